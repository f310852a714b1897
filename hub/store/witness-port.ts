/** What the witnesses of the hub's supply chain ask of the store: who they are, and what each signed. */

/** One whom the operator named. */
export type WitnessRow = {
  aid: string
  url: string | undefined
  /** Its key history, once it has sent one. */
  kel: Uint8Array | undefined
  /** Its statement about a record that the chain here does not have, or in whose place it has another. */
  ahead: Uint8Array | undefined
}

export type KeptStatement = { witness: string; seq: number; observedMs: number; statement: Uint8Array }
export type NewStatement = KeptStatement & { kel: Uint8Array; keptSinceDay: number }

/** A part of a chain, the length of all of it, and what was signed about its head. */
export type WatchedPart = { length: number; records: Uint8Array[]; statement: Uint8Array }

export interface WitnessStore {
  witness(aid: string): Promise<WitnessRow | undefined>
  /** In AID order. */
  witnesses(): Promise<WitnessRow[]>
  /** Names a witness or gives it another address; false where there are `max` others already. */
  putWitness(given: { aid: string; url: string | undefined; max: number }): Promise<boolean>
  /** Forgets a witness with all its statements; false where it was none. */
  removeWitness(aid: string): Promise<boolean>
  /** Keeps a statement that is newer than those of its witness; false where it is not, or its witness is gone. */
  keepStatement(given: NewStatement): Promise<boolean>
  /** Keeps a statement about a record that the chain does not have, in place of the one before. */
  keepAhead(given: { witness: string; kel: Uint8Array; statement: Uint8Array }): Promise<void>
  /** All that are kept, by witness, the newest of each first. */
  witnessStatements(): Promise<KeptStatement[]>
  /** Records of another hub's chain that is watched from this data directory; undefined where it is not. */
  watchedRecords(of: { hub: string; from: number; limit: number }): Promise<WatchedPart | undefined>
}

/** A chain as far as it was followed; `statement` was signed about its last record. */
export type WatchedChain = { kel: Uint8Array; length: number; place: string; statement: Uint8Array }
export type Followed = WatchedChain & { hub: string; before: number; records: readonly Uint8Array[] }

/** The supply chains of other hubs that a witness follows from one data directory. */
export interface WatchedChains {
  chain(hub: string): Promise<WatchedChain | undefined>
  records(hub: string, from: number): Promise<Uint8Array[]>
  /** Keeps what was followed and signed; false where somebody else followed the chain meanwhile. */
  keep(followed: Followed): Promise<boolean>
  /** Keeps what a hub showed that does not go on from there. */
  keepConflict(hub: string, seenMs: number, why: string, record: Uint8Array | undefined): Promise<void>
  close(): Promise<void>
}
