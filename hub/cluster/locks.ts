/** Names under which processes wait for each other. */

const NAMES_OF_KIND = 256
const FNV_OFFSET = 2_166_136_261
const FNV_PRIME = 16_777_619

/** The lock of one among many: the server has room for some thousand locks in all, so that they share a few. */
export function sharedLock(kind: string, one: string): string {
  let hash = FNV_OFFSET
  for (let n = 0; n < one.length; n++) hash = Math.imul(hash ^ one.charCodeAt(n), FNV_PRIME)
  return `${kind} ${(hash >>> 0) % NAMES_OF_KIND}`
}
