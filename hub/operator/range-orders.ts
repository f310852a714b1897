/** Orders about address ranges whose newcomers only the operator lets in. */
import { addressRangeOf } from '../core/address-ranges.ts'
import { StoreRefused } from '../store/port.ts'
import type { OperatorContext, OrderOf, OrderResult } from './order-shapes.ts'

export const RANGE_EXPECTED = 'expected an address range such as 192.0.2.0/24 or 2001:db8::/32'
/** Each newcomer is compared with all of them. */
const RANGES_MAX = 256

export async function ranges(
  { refuse, allow }: OrderOf<'ranges'>,
  { store }: OperatorContext,
): Promise<OrderResult> {
  const held = await store.refusedRanges()
  if (refuse !== undefined) {
    if (held.length >= RANGES_MAX)
      throw new StoreRefused(`${RANGES_MAX} ranges are refused already; allow some, or refuse wider ones`)
    await store.refuseRange(spelled(refuse), true)
  }
  if (allow !== undefined) {
    const range = spelled(allow)
    if (!held.includes(range))
      throw new StoreRefused(`${range} is not refused; allow one of: ${held.join(', ') || 'none is'}`)
    await store.refuseRange(range, false)
  }
  return { refused: await store.refusedRanges() }
}

function spelled(text: string): string {
  const range = addressRangeOf(text)
  if (range === undefined) throw new StoreRefused(`${RANGE_EXPECTED}, got ${text}`)
  return range
}
