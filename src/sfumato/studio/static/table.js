// A mechanism as the page holds it: rows of probabilities, and which outputs are secrets.

import { floats } from "./server.js";

export class Table {
  constructor(answer, secrets) {
    this.outputs = answer.outputs;
    this.at = answer.at;
    this.secrets = secrets;
    this.onBox = answer.about === "coordinates"; // secrets are then the centres of cells
    this.matrix = floats(answer.matrix);
    this.width = answer.outputs.length;
  }

  row(secret) {
    return this.matrix.subarray(secret * this.width, (secret + 1) * this.width);
  }

  /** The probabilities of a secret's outputs, laid on the secrets; outputs that are none are left out. */
  cloud(secret, shares = new Float32Array(this.secrets), weight = 1) {
    this.row(secret).forEach((share, k) => { if (this.at[k] >= 0) shares[this.at[k]] += weight * share; });
    return shares;
  }

  /** What is released over all, for a prior. */
  released(prior) {
    return prior.reduce((shares, weight, secret) => this.cloud(secret, shares, weight), new Float32Array(this.secrets));
  }

  /** The likeliest outputs of a secret: [name, probability], falling. */
  likeliest(secret, most) {
    const row = this.row(secret);
    const order = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, most);
    return order.map((k) => [this.outputs[k], row[k]]);
  }
}
