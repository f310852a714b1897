/** Orders about witnesses of the supply chain: who may be one, and what each has seen. */
import { present } from '../../protocol/encoding/present.ts'
import { isHubUrl } from '../core/hub-url.ts'
import { type ChainHeld, type ChainStore, chainHeld, heldSentence } from '../core/supply/held.ts'
import { WITNESSES_MAX } from '../core/supply/witnesses.ts'
import { StoreRefused } from '../store/port.ts'
import type { OperatorContext, OrderOf, OrderResult } from './order-shapes.ts'

export const WITNESS_URL_EXPECTED = 'expected the URL of a witness, such as https://hub.example'

export async function witnesses(
  { add, url, remove }: OrderOf<'witness'>,
  context: OperatorContext,
): Promise<OrderResult> {
  const { store } = context
  if (add !== undefined) await name(add, url, context)
  if (remove !== undefined && !(await store.removeWitness(remove)))
    throw new StoreRefused(`${remove} is no witness of this hub; list them with: svc-hub witness ls`)
  const held = await standstill(context)
  const note = held && heldSentence(held)
  return { witnesses: await standing(context), ...present({ note }) }
}

async function name(aid: string, url: string | undefined, context: OperatorContext): Promise<void> {
  if (url !== undefined && !isHubUrl(url)) throw new StoreRefused(`${WITNESS_URL_EXPECTED}, got ${url}`)
  if (aid === context.aid)
    throw new StoreRefused(`${aid} is this hub, which cannot watch itself; name somebody else`)
  if ((await context.agents.findRegistered(aid)) !== undefined)
    throw new StoreRefused(`${aid} is an agent of this hub; name a witness that this hub owes nothing`)
  if (!(await context.store.putWitness({ aid, url, max: WITNESSES_MAX })))
    throw new StoreRefused(
      `${WITNESSES_MAX} witnesses are named already; take one off: svc-hub witness rm <AID>`,
    )
}

/** Each witness with the last record that it has seen. */
async function standing({ store }: OperatorContext): Promise<OrderResult[]> {
  const kept = await store.witnessStatements()
  return (await store.witnesses()).map(({ aid, url }) => {
    const newest = kept.find(({ witness }) => witness === aid)
    const observed = newest && new Date(newest.observedMs).toISOString()
    return { aid, url: url ?? null, seq: newest?.seq ?? null, observed_at: observed ?? null }
  })
}

/** Why the supply chain does not go on; undefined where it does. */
export async function standstill({
  store,
}: {
  store: Pick<OperatorContext['store'], keyof ChainStore | 'supplyHead'>
}): Promise<ChainHeld | undefined> {
  const head = await store.supplyHead()
  return head && (await chainHeld(store, head))
}
