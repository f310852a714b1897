/** The newest record of the supply chain, on which the next one is signed: no two records may follow one. */
import type { SupplyHead } from '../../store/ledger-port.ts'

/** What came of the work, and the head after it. */
export type Advanced<T> = { answer: T; head: SupplyHead }

export interface ChainHead {
  /**
   * The newest record that this process knows of. What another process added is known a second later at most; what `advance`
   * was given or has added, at once.
   */
  readonly known: SupplyHead
  /**
   * Does work with the newest head, while nobody in any process does any; what it adds is where the next one begins. Where
   * it throws, the head is read from the store again.
   */
  advance<T>(work: (head: SupplyHead) => Promise<Advanced<T>>): Promise<T>
}

export interface SupplyHeads {
  /** The chain as the store has it; `none` stands for the head of one without a record. */
  open(none: SupplyHead): Promise<ChainHead>
}
