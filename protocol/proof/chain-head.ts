/** The head of a chain as somebody claims it (objects: evidence chain): its length and the id of its last record. */
import { CID_BYTES, isContentId } from '../crypto/hash.ts'
import { equal, Malformed } from '../encoding/bytes.ts'
import { bytes, type Field, mapped, tuple, uint } from '../encoding/record.ts'
import { GENESIS } from './evidence.ts'

/** Length of a chain and the id of its last record, the genesis sentinel where it is empty. */
export type ClaimedHead = [length: number, id: Uint8Array]

/** Refuses a head that no chain can have. */
export function requirePossible(length: number, id: Uint8Array): void {
  if (!isContentId(id)) throw new Malformed('the id of a chain head is not CIDv1 raw sha2-256')
  if ((length === 0) === equal(id, GENESIS)) return
  throw new Malformed(
    length === 0
      ? 'a chain head of length 0 has another id than the genesis sentinel'
      : 'a chain head above length 0 has the genesis sentinel as its id',
  )
}

function possible(head: ClaimedHead): ClaimedHead {
  requirePossible(...head)
  return head
}

/** `[length, id of 36 bytes]`, objects §11; a head that no chain can have throws {@link Malformed}. */
export const claimedHead: Field<ClaimedHead> = mapped(
  tuple<ClaimedHead>(uint, bytes(CID_BYTES)),
  possible,
  possible,
)
