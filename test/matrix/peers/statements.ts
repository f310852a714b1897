/** A debt that was paid outside: the creditor has booked it, and its debtor has to hear of it. */
import { clearId } from '../../../hub/core/ledger/names.ts'
import { type Side, wasPutBack } from './side.ts'

export type Statement = {
  name: string
  creditor: Side
  debtor: Side
  amount: number
  /** Running number of the creditor. */
  number: number
  madeMs: number
}

const isBooked = async ({ store }: Side, { creditor, number }: Statement): Promise<boolean> =>
  (await store.transfer(clearId(creditor.aid, number))) !== undefined

/** By how much the two sides of a debt differ, since only one has booked it; below 0 where that is the creditor. */
export async function differenceOf(one: Statement): Promise<number> {
  const [byCreditor, byDebtor] = [await isBooked(one.creditor, one), await isBooked(one.debtor, one)]
  return (byDebtor ? one.amount : 0) - (byCreditor ? one.amount : 0)
}

/** Some hours later both have booked it, or neither, where the creditor was put back to before it. */
export async function unheard(one: Statement): Promise<string[]> {
  const { name, creditor, debtor, madeMs } = one
  const [byCreditor, byDebtor] = [await isBooked(creditor, one), await isBooked(debtor, one)]
  if (byCreditor !== byDebtor)
    return [`${name}: ${(byCreditor ? debtor : creditor).name} has not heard of it`]
  return byCreditor || wasPutBack(creditor, madeMs) ? [] : [`${name} is gone`]
}
