/**
 * Whether the supply chain may go on. It may not while a witness has seen a record that is not here, or another one in the
 * place of one that is: the hub was put back to a time before, and what it signs on top would be a second history.
 */
import { equal } from '../../../protocol/encoding/bytes.ts'
import { WitnessStatement } from '../../../protocol/proof/witness.ts'
import type { SupplyHead } from '../../store/ledger-port.ts'
import { AWAITED_SETTING, RESTORED_SETTING } from '../../store/ledger-port.ts'
import type { Store } from '../../store/port.ts'

/** `url` is where the witness can be asked, as far as the operator said it. */
type Seen = { witness: string; url: string | undefined; seq: number }
/** Why no record may follow the head: what witnesses have seen, or those still to be heard of after a restore. */
export type ChainHeld = { contradicted: Seen[]; ahead: Seen[]; unheard: string[] }
export type ChainStore = Pick<Store, 'witnesses' | 'witnessStatements' | 'setting' | 'supplyRecords'>

/** Undefined where the chain may go on. */
export async function chainHeld(
  store: ChainStore,
  head: Pick<SupplyHead, 'seq'>,
): Promise<ChainHeld | undefined> {
  const named = await store.witnesses()
  if (named.length === 0) return undefined
  const contradicted: Seen[] = []
  const ahead: Seen[] = []
  for (const { aid: witness, url, ahead: bytes } of named) {
    if (bytes === undefined) continue
    const { seq, headId } = WitnessStatement.decode(bytes).body
    if (seq > head.seq) ahead.push({ witness, url, seq })
    else if (!(await isAt(store, seq, headId))) contradicted.push({ witness, url, seq })
  }
  const unheard = await unheardOf(
    store,
    named.map(({ aid }) => aid),
  )
  return contradicted.length + ahead.length + unheard.length === 0
    ? undefined
    : { contradicted, ahead, unheard }
}

async function isAt(store: ChainStore, seq: number, id: Uint8Array): Promise<boolean> {
  const [record] = await store.supplyRecords(seq, 1)
  return record?.seq === seq && equal(record.id, id)
}

/** Witnesses that a restored hub waits for. */
async function unheardOf(store: ChainStore, named: readonly string[]): Promise<string[]> {
  const restoredMs = Number((await store.setting(RESTORED_SETTING)) ?? 0)
  const heard = new Map<string, number>()
  for (const { witness, observedMs } of await store.witnessStatements())
    heard.set(witness, Math.max(heard.get(witness) ?? 0, observedMs))
  const awaited = JSON.parse((await store.setting(AWAITED_SETTING)) ?? '[]') as string[]
  return named.filter(aid => awaited.includes(aid) && (heard.get(aid) ?? 0) < restoredMs)
}

const takingBack = ({ url = '<url of the witness>' }: Seen): string => `svc-hub restore --from-witness ${url}`

/** What keeps the chain, and what an operator does about it. */
export function heldFinding({ contradicted, ahead, unheard }: ChainHeld): { found: string; next: string } {
  const [other] = contradicted
  if (other !== undefined)
    return {
      found: `the supply chain stands still, because witness ${other.witness} has signed another record ${other.seq} than the one here: these files went back in time, and a second history began`,
      next: `stop the hub, restore the newest backup whose chain ends before record ${other.seq} to a new folder, and take the rest back with: ${takingBack(other)} – what was granted and redeemed here since then is lost; if the witness is wrong: svc-hub witness rm ${other.witness}`,
    }
  const [first] = ahead
  if (first !== undefined)
    return {
      found: `the supply chain stands still, because witness ${first.witness} has seen record ${first.seq} of it, which is not here`,
      next: `stop the hub and take it back with: ${takingBack(first)}`,
    }
  return {
    found: `the supply chain stands still since the restore, until each witness that was named before has been heard of again (${unheard.join(', ')})`,
    next: 'let it run: svc-hub witness run <url of this hub>, or, if one is gone for good: svc-hub witness rm <AID>',
  }
}

export function heldSentence(held: ChainHeld): string {
  const { found, next } = heldFinding(held)
  return `${found}; ${next}`
}
