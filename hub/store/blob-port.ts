/**
 * What the hub asks of the places where large mail lies: each under a random name, kept before any row names it and
 * removed only after that row is gone.
 */

/** Folders of a data directory: where blobs of a kind lie, and where each is written first. */
export type BlobPlace = { readonly folder: string; readonly temporary: string }
/** Sealed envelopes, and letters that the hub can read. */
export const blobPlaces = {
  envelopes: { folder: 'blobs', temporary: 'tmp' },
  letters: { folder: 'open-blobs', temporary: 'open-tmp' },
} as const satisfies Record<string, BlobPlace>

const GROUP_CHARACTERS = 2
/** The path of a blob in a data directory. */
export const blobPath = ({ folder }: BlobPlace, name: string): string =>
  `${folder}/${name.slice(0, GROUP_CHARACTERS)}/${name}`

/** A blob that is being written: either `commit` or `abort` ends it. */
export type BlobWriter = {
  write(bytes: Uint8Array): Promise<void>
  commit(): Promise<void>
  abort(): Promise<void>
}

export type BlobReader = {
  /** Reads on until the piece is full or the blob ends; returns how many bytes it read. */
  fill(piece: Uint8Array): Promise<number>
  close(): Promise<void>
}

export interface Blobs {
  /** Starts a blob under a fresh random name (32 hex characters). */
  create(name: string): Promise<BlobWriter>
  /** Opens a blob for reading, or undefined when it was collected meanwhile. */
  open(name: string): Promise<BlobReader | undefined>
  /** Removes blobs whose rows are gone. */
  remove(names: string[]): Promise<void>
  /** Names of all blobs, some at a time. */
  names(): AsyncIterable<string[]>
  /** Keeps every blob until the returned function is called: rows that were copied meanwhile still have theirs. */
  hold(): Promise<() => Promise<void>>
  /** At start, when nothing is under way: removes what a broken write left, and old blobs that no row names. */
  collect(nowMs: number, unused: (names: string[]) => Promise<string[]>): Promise<number>
}
