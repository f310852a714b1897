/**
 * `svc-hub restore --from-witness`: a restored hub takes the records of its supply chain back that a witness kept, and the
 * credits with them. What agents paid each other in that time is in no record, and stays lost.
 */
import { verify } from '../../protocol/crypto/engine.node.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { ChainReader } from '../../protocol/proof/chain-reader.ts'
import { ChainInvalid, ChainRecord } from '../../protocol/proof/evidence.ts'
import type { HubIdentity } from '../core/identity.ts'
import { returnSupply } from '../core/supply/returned.ts'
import type { SupplyHead } from '../store/ledger-port.ts'
import { type Store, StoreRefused } from '../store/port.ts'
import type { OtherHub } from './other-hub.ts'

export type TakenBack = { records: number; head_seq: number; head_id: string; restored: number }
type Given = { store: Store; identity: HubIdentity; now: () => number }
export type Returned = { record: ChainRecord; bytes: Uint8Array }

export async function takeBack(other: OtherHub, { store, identity, now }: Given): Promise<TakenBack> {
  const head = await store.supplyHead()
  if (head === undefined) throw new StoreRefused('this hub has no supply chain; restore a backup of it first')
  await requireOneHistory(other, head, { store, identity })
  const reader = new ChainReader(identity.kel, [], { length: head.seq + 1, head: head.id })
  const returned: Returned[] = []
  for (let isLast = false; !isLast; ) {
    const page = await other.keptPage(identity.aid, reader.length)
    for (const bytes of page.records) returned.push({ record: checked(reader, bytes, other), bytes })
    isLast = page.isLast || page.records.length === 0
  }
  const restored = await returnSupply({ store, identity, now }, head, returned)
  const newest = (await store.supplyHead()) ?? head
  return { records: returned.length, head_seq: newest.seq, head_id: cidText(newest.id), restored }
}

/** Refuses a chain of which the witness keeps no more than is here, and one that it knows to have gone another way. */
async function requireOneHistory(
  other: OtherHub,
  head: SupplyHead,
  { store, identity }: Pick<Given, 'store' | 'identity'>,
): Promise<void> {
  const isSame = async (seq: number): Promise<boolean> => {
    const [kept] = (await other.keptPage(identity.aid, seq)).records
    const [own] = await store.supplyRecords(seq, 1)
    return kept !== undefined && own !== undefined && equal(readKept(kept, other).id, own.id)
  }
  const { length } = await other.keptPage(identity.aid, head.seq)
  const shared = Math.max(0, Math.min(length - 1, head.seq))
  if (await isSame(shared)) {
    if (length > head.seq + 1) return
    throw new StoreRefused(
      `${other.url} has followed this chain up to record ${length - 1} only, and record ${head.seq} is here; there is nothing to take back`,
    )
  }
  // the first record that differs: all after it follow from it
  let [same, differs] = [-1, shared]
  while (differs - same > 1) {
    const middle = Math.floor((same + differs) / 2)
    if (await isSame(middle)) same = middle
    else differs = middle
  }
  throw new StoreRefused(
    `${other.url} keeps another record ${differs} than the one here: these files went back in time, and a second history began there; restore the newest backup whose chain ends before record ${differs} to a new folder, and take the rest back into that one`,
  )
}

function readKept(bytes: Uint8Array, other: OtherHub): ChainRecord {
  try {
    return ChainRecord.decode(bytes)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    throw new StoreRefused(
      `${other.url} gave what is no record of a supply chain: ${error.message}; ask another witness`,
    )
  }
}

/** Only what this hub signed itself, on top of what it has. */
function checked(reader: ChainReader, bytes: Uint8Array, other: OtherHub): ChainRecord {
  const refused = (why: string) =>
    new StoreRefused(
      `${other.url} gave a record that does not go on from this chain: ${why}; restore a newer backup, or ask another witness`,
    )
  try {
    const { record, toVerify } = reader.add(bytes)
    const { key, message, signature } = toVerify
    if (!verify(key, message, signature)) throw refused('this hub did not sign it')
    return record
  } catch (error) {
    if (error instanceof ChainInvalid || error instanceof Malformed) throw refused(error.message)
    throw error
  }
}
