/**
 * Grants, and debts that were cleared, as they came back to a restored hub with its supply chain. The chain has no names
 * of orders, so an order that is repeated by its name is held to be the one among them of the same AID and amount, once.
 */
import { toHex } from '../../../protocol/encoding/bytes.ts'
import type { Store } from '../../store/port.ts'

const SETTINGS = { grant: 'returned_grants', cleared: 'returned_clearings' } as const
export type ReturnedKind = keyof typeof SETTINGS

type Settings = Pick<Store, 'setting' | 'putSetting'>
/** `order`: the one that it turned out to be. */
type Returned = { aid: string; amount: number; order?: string }
type AllReturned = Record<string, Returned>

async function read(store: Settings, kind: ReturnedKind): Promise<AllReturned> {
  return JSON.parse((await store.setting(SETTINGS[kind])) ?? '{}') as AllReturned
}

/** Notes them by the ids of their records; one that is noted already stays as it is. */
export async function noteReturned(
  store: Settings,
  kind: ReturnedKind,
  changes: readonly { id: Uint8Array; aid: string; amount: number }[],
): Promise<void> {
  if (changes.length === 0) return
  const fresh = Object.fromEntries(changes.map(({ id, aid, amount }) => [toHex(id), { aid, amount }]))
  await store.putSetting(SETTINGS[kind], JSON.stringify({ ...fresh, ...(await read(store, kind)) }))
}

/** Whether an order is one of them, which it then stays. */
export async function isReturned(
  store: Settings,
  kind: ReturnedKind,
  { aid, amount, order }: { aid: string; amount: number; order: string },
): Promise<boolean> {
  const all = await read(store, kind)
  const isOf = (one: Returned) => one.aid === aid && one.amount === amount
  const ones = Object.values(all).filter(isOf)
  if (ones.some(one => one.order === order)) return true
  const free = ones.find(one => one.order === undefined)
  if (free === undefined) return false
  free.order = order
  await store.putSetting(SETTINGS[kind], JSON.stringify(all))
  return true
}
