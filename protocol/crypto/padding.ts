/** Sizes that hide sizes (objects: sealed envelope): five buckets up to 64 KiB, Padmé above, 94 MiB at most. */

/** Bytes of a padded plaintext at most, objects §6. */
export const PLAINTEXT_BYTES_MAX = 94 * 1024 * 1024
const FIRST_BUCKET_BYTES = 4 * 1024
const LAST_BUCKET_BYTES = 64 * 1024

/** The length that `length` bytes are padded to. */
export function paddedSize(length: number): number {
  if (length > LAST_BUCKET_BYTES) return padme(length)
  let bucket = FIRST_BUCKET_BYTES
  while (bucket < length) bucket *= 2
  return bucket
}

/** Keeps as many leading bits as the length of the exponent, so sizes leak their order of magnitude only. */
function padme(length: number): number {
  const exponent = 31 - Math.clz32(length)
  const kept = 32 - Math.clz32(exponent)
  const step = 2 ** (exponent - kept)
  return Math.ceil(length / step) * step
}
