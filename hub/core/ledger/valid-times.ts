/** When an authorization may be settled, by the clock of the hub. */
import type { Authorization } from '../../../protocol/proof/payment.ts'
import { RESTORED_SETTING } from '../../store/ledger-port.ts'
import type { HubContext } from '../context.ts'
import { PaymentRefused } from './refused.ts'

/** The clocks of payer and hub may differ by so much. */
const TOLERANCE_MS = 2 * 60_000

/** Throws where it is not valid now, or may have been settled in a time that this hub has lost. */
export async function checkTimes(
  { now, store }: Pick<HubContext, 'now' | 'store'>,
  { notBefore, notAfter }: Authorization['body'],
): Promise<void> {
  const nowMs = now()
  if (notBefore < Number((await store.setting(RESTORED_SETTING)) ?? 0))
    throw new PaymentRefused('expired', 'it was made before this hub was restored')
  if (nowMs < notBefore - TOLERANCE_MS) throw new PaymentRefused('expired', 'it is not valid yet')
  if (nowMs > notAfter + TOLERANCE_MS) throw new PaymentRefused('expired', 'its time is over')
}
