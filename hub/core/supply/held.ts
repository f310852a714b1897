/**
 * Whether the supply chain may go on. It may not while a witness has seen a record that is not here: the hub was put back to
 * a time before, and another record at that place would be a second history.
 */
import { WitnessStatement } from '../../../protocol/proof/witness.ts'
import type { SupplyHead } from '../../store/ledger-port.ts'
import type { Store } from '../../store/port.ts'
import { AWAITED_SETTING, RESTORED_SETTING } from '../../store/sqlite/inspect.ts'

/** Why no record may follow the head: witnesses that saw later ones, or are still to be heard of after a restore. */
export type ChainHeld = { ahead: { witness: string; seq: number }[]; unheard: string[] }

/** Undefined where the chain may go on. */
export async function chainHeld(
  store: Pick<Store, 'witnesses' | 'witnessStatements' | 'setting'>,
  head: Pick<SupplyHead, 'seq'>,
): Promise<ChainHeld | undefined> {
  const named = await store.witnesses()
  if (named.length === 0) return undefined
  const ahead = named.flatMap(({ aid, ahead: bytes }) => {
    const seq = bytes === undefined ? -1 : WitnessStatement.decode(bytes).body.seq
    return seq > head.seq ? [{ witness: aid, seq }] : []
  })
  const restoredMs = Number((await store.setting(RESTORED_SETTING)) ?? 0)
  const heard = new Map<string, number>()
  for (const { witness, observedMs } of await store.witnessStatements())
    heard.set(witness, Math.max(heard.get(witness) ?? 0, observedMs))
  const awaited = JSON.parse((await store.setting(AWAITED_SETTING)) ?? '[]') as string[]
  const unheard = named
    .map(({ aid }) => aid)
    .filter(aid => awaited.includes(aid) && (heard.get(aid) ?? 0) < restoredMs)
  return ahead.length + unheard.length === 0 ? undefined : { ahead, unheard }
}

/** What keeps the chain, and what an operator does about it. */
export function heldSentence({ ahead, unheard }: ChainHeld): string {
  const [first] = ahead
  if (first !== undefined)
    return `the supply chain stands still, because witness ${first.witness} has seen record ${first.seq} of it, which is not here; stop the hub and take it back with: svc-hub restore --from-witness <url of the witness>`
  return `the supply chain stands still since the restore, until each witness that was named before has been heard of again (${unheard.join(', ')}); let it run: svc-hub witness run <url of this hub>, or, if one is gone for good: svc-hub witness rm <AID>`
}
