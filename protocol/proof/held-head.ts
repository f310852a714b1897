/**
 * A head of somebody's chain as a correspondent holds it (objects: receipt): inside the receipt or the counter-signature
 * that its owner signed. Given back, it shows the owner how far its chain had come, and nobody else can make one.
 */
import { Malformed } from '../encoding/bytes.ts'
import { checked, type Infer, optional, type RecordCodec, record } from '../encoding/record.ts'
import { keyAt, type VerifiedKel } from '../identity/kel.ts'
import { CounterSignature, Receipt } from './receipt.ts'

const both = record('held head', {
  receipt: optional(1, Receipt),
  counterSignature: optional(2, CounterSignature),
})
/** A receipt or a counter-signature, as kind 11 of a message carries it (objects §11). */
export type HeldHead = Infer<typeof both>

const EITHER = 'a held head must be a receipt or a counter-signature'

/** Exactly one of the two. */
export const HeldHead: RecordCodec<HeldHead> = checked(both, ({ receipt, counterSignature }) => {
  if ((receipt === undefined) === (counterSignature === undefined)) throw new Malformed(EITHER)
})

/** A head as somebody has it: a held head, or bare the receipt or the counter-signature that carries it. */
export function readHead(bytes: Uint8Array): HeldHead {
  const forms = [
    () => HeldHead.decode(bytes),
    () => ({ receipt: Receipt.decode(bytes) }),
    () => ({ counterSignature: CounterSignature.decode(bytes) }),
  ]
  for (const form of forms) {
    try {
      return form()
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
    }
  }
  throw new Malformed('neither a held head nor a receipt nor a counter-signature')
}

/** Length of a chain, the id of its last record, and the key state under which its owner said so. */
export type SignedHead = { kelSeq: number; length: number; id: Uint8Array }

/** What a held head names, whoever signed it. */
export function headIn({ receipt, counterSignature }: HeldHead): SignedHead & { owner: string } {
  if (counterSignature !== undefined) {
    const { requester, kelSeq, chainLength, chainHead } = counterSignature.body
    return { owner: requester, kelSeq, length: chainLength, id: chainHead }
  }
  if (receipt === undefined) throw new Malformed(EITHER)
  const { provider, providerKelSeq, providerHead } = receipt.body
  return { owner: provider, kelSeq: providerKelSeq, length: providerHead[0], id: providerHead[1] }
}

/** The head, when the owner of this log signed it under the key state that it names. */
export function signedHead(held: HeldHead, owner: VerifiedKel): SignedHead | undefined {
  const head = headIn(held)
  const key = head.owner === owner.aid ? keyAt(owner, head.kelSeq) : undefined
  if (key === undefined) return undefined
  const { receipt, counterSignature } = held
  const holds =
    receipt === undefined
      ? counterSignature !== undefined && CounterSignature.verify(key, counterSignature)
      : Receipt.verify(key, receipt)
  return holds ? head : undefined
}
