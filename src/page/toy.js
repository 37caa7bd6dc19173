// A Bloom filter of a few hundred bits, for the lessons: the mathematics of the daemon's, and none of its data.

export class Toy {
  constructor(bits, hashes, salt = 1) {
    Object.assign(this, {bits, hashes, salt, keys: 0, set: new Uint8Array(bits)});
  }

  positions(key) {
    return Array.from({length: this.hashes}, (_, i) => hash(key, i, this.salt) % this.bits);
  }

  add(key) {
    this.addAt(this.positions(key));
  }

  addAt(positions) {
    for (const bit of positions) this.set[bit] = 1;
    this.keys++;
  }

  maybe(key) {
    return this.positions(key).every((bit) => this.set[bit]);
  }

  get ones() {
    return this.set.reduce((sum, bit) => sum + bit, 0);
  }

  // (1 - e^(-kn/m))^k
  get predicted() {
    return (-Math.expm1(-this.hashes * this.keys / this.bits)) ** this.hashes;
  }

  // The share of n never-added keys that it says maybe of; added ones are numbered from 0 up.
  measured(n) {
    let maybe = 0;
    for (let i = 0; i < n; i++) maybe += this.maybe(1e6 + i);
    return maybe / n;
  }
}

// (m/n) ln 2 solved for n: the keys at which half of the bits are 1, and k positions are best.
export const sizedFor = (bits, hashes) => Math.round(bits * Math.LN2 / hashes);

// 32 bits out of three numbers, mixed twice by shifts and odd factors.
function hash(key, i, salt) {
  let h = (key * 0x9e3779b1 + i * 0x85ebca77 + salt * 0xc2b2ae3d) | 0;
  for (const factor of [0x2c1b3c6d, 0x297a2d39, 0x2c1b3c6d]) {
    h = Math.imul(h ^ (h >>> 15), factor);
    h ^= h >>> 13;
  }
  return h >>> 0;
}
