/**
 * Signature checks as they go from thread to thread: in one buffer that is handed over. Views would be copied with all
 * that lies around them, a whole request for each key.
 */

export type Check = { key: Uint8Array; message: Uint8Array; signature: Uint8Array }

const LENGTHS = 3

/** Three lengths for each check, then its bytes, one check after the other. */
export type CheckBatch = { lengths: Uint32Array<ArrayBuffer>; bytes: Uint8Array<ArrayBuffer> }

export function packChecks(checks: readonly Check[]): CheckBatch {
  const parts = checks.flatMap(({ key, message, signature }) => [key, message, signature])
  const lengths = Uint32Array.from(parts, part => part.length)
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return { lengths, bytes }
}

/** The checks of a batch as views into it. */
export function unpackChecks({ lengths, bytes }: CheckBatch): Check[] {
  let at = 0
  const next = (index: number): Uint8Array => {
    const start = at
    at += lengths[index] ?? 0
    return bytes.subarray(start, at)
  }
  return Array.from({ length: lengths.length / LENGTHS }, (_, check) => ({
    key: next(LENGTHS * check),
    message: next(LENGTHS * check + 1),
    signature: next(LENGTHS * check + 2),
  }))
}
