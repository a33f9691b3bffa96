export function checkSharesClaim() {
  throw new Error("not yet");
}
