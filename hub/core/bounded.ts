/** Maps and sets in memory that hold a bounded number of keys: when one is full, its oldest sixteenth goes. */

const SHARE = 16

/** Bytes as the key of a map, one character a byte: a third of what they take as text. */
export const keyOf = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString('latin1')

/**
 * Makes room for one more. Many go at once, because finding the first key of a map costs as much as was deleted before
 * it: who has many addresses must not make each request dear.
 */
export function makeRoom(held: Map<string, unknown> | Set<string>, keysMax: number): void {
  if (held.size < keysMax) return
  let left = Math.max(1, Math.floor(keysMax / SHARE))
  for (const key of held.keys()) {
    if (left === 0) return
    held.delete(key)
    left -= 1
  }
}
