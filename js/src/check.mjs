// What a file says, proved or refuted.

import { checkBoxBound } from "./boxbound.mjs";
import { checkBoxLoss, checkLattice, checkLayers, checkNoise, checkNoiseLoss } from "./boxes.mjs";
import { checkLossClaim } from "./claims.mjs";
import { checkRows } from "./rows.mjs";
import { checkSharesClaim } from "./shares.mjs";

/** Everything that the file says is checked; what was found, or Refuted is thrown. */
export function checkFile(file) {
  const { claims } = file;
  if (!file.box) {
    const found = checkRows(file);
    if (claims?.kind === "loss") checkLossClaim(file);
    if (claims?.kind === "shares") checkSharesClaim(file);
    return found;
  }
  if (file.noise) {
    const found = checkNoise(file);
    if (claims) checkNoiseLoss(file);
    if (claims?.bound) checkLayers(file);
    return found;
  }
  const found = checkLattice(file);
  if (claims) checkBoxLoss(file);
  if (claims?.bound) checkBoxBound(file);
  return found;
}
