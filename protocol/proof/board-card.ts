/** The id of a card of a task board: it says which signed order made the card, so whoever gave the order finds it again. */
import { labelledHash } from '../crypto/hash.ts'
import { toBase64url, utf8 } from '../encoding/bytes.ts'

const LABEL = 'svc-board-card/v1'
const ID_BYTES = 16

/** What a card is made with; `taskdoc` may be empty. */
export type CardWords = { title: string; taskdoc: string; column: string }

/** Of the signature under which a card was ordered, and its words: two orders of one millisecond differ. */
export function boardCardId(signature: Uint8Array, { title, taskdoc, column }: CardWords): string {
  const words = utf8(JSON.stringify([title, taskdoc, column]))
  return toBase64url(labelledHash(LABEL, signature, words).subarray(0, ID_BYTES))
}
