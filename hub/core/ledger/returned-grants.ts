/**
 * Grants that came back to a restored hub with its supply chain. The chain has no names of orders, so an order that is
 * repeated by its name is held to be the one among them of the same account and amount, once.
 */
import { toHex } from '../../../protocol/encoding/bytes.ts'
import type { Store } from '../../store/port.ts'

const RETURNED_SETTING = 'returned_grants'

type Settings = Pick<Store, 'setting' | 'putSetting'>
/** `order`: the one that it turned out to be. */
type ReturnedGrant = { aid: string; amount: number; order?: string }
type ReturnedGrants = Record<string, ReturnedGrant>

async function read(store: Settings): Promise<ReturnedGrants> {
  return JSON.parse((await store.setting(RETURNED_SETTING)) ?? '{}') as ReturnedGrants
}

/** Notes grants by the ids of their records; one that is noted already stays as it is. */
export async function noteReturnedGrants(
  store: Settings,
  grants: readonly { id: Uint8Array; aid: string; amount: number }[],
): Promise<void> {
  if (grants.length === 0) return
  const fresh = Object.fromEntries(grants.map(({ id, aid, amount }) => [toHex(id), { aid, amount }]))
  await store.putSetting(RETURNED_SETTING, JSON.stringify({ ...fresh, ...(await read(store)) }))
}

/** Whether an order is one of them, which it then stays. */
export async function isReturned(
  store: Settings,
  { aid, amount, order }: { aid: string; amount: number; order: string },
): Promise<boolean> {
  const all = await read(store)
  const isOf = (one: ReturnedGrant) => one.aid === aid && one.amount === amount
  const grants = Object.values(all).filter(isOf)
  if (grants.some(one => one.order === order)) return true
  const free = grants.find(one => one.order === undefined)
  if (free === undefined) return false
  free.order = order
  await store.putSetting(RETURNED_SETTING, JSON.stringify(all))
  return true
}
