/** Numbers that a seed repeats. */
export type Dice = {
  /** From 0 up to 1. */
  next(): number
  pick<T>(list: readonly T[]): T
  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number
}

const STEP = 0x9e37_79b9
const FIRST = 0x21f0_aaad
const SECOND = 0x735a_2d97

/** Splitmix32: seeds beside each other give other numbers from the first one on. */
export function dice(seed: number): Dice {
  let state = seed | 0
  const next = () => {
    state = (state + STEP) | 0
    let mixed = Math.imul(state ^ (state >>> 16), FIRST)
    mixed = Math.imul(mixed ^ (mixed >>> 15), SECOND)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
  return {
    next,
    pick: list => list[Math.floor(next() * list.length)] as (typeof list)[number],
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
  }
}
