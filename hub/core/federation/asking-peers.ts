/** What this hub asks its peers by itself: how payments in their credits ended, until each has said so. */

import { wordsOf } from '../../../protocol/encoding/errors.ts'
import { Authorization } from '../../../protocol/proof/payment.ts'
import type { PeerPayment } from '../../store/peer-payment-port.ts'
import type { HubContext } from '../context.ts'
import { PaymentRefused } from '../ledger/refused.ts'
import { AFTER_END_MS, type PeerPayments } from './peer-payments.ts'

const LOOK_EVERY_MS = 5_000
const AT_ONCE = 100
const TAKEN_UP_MAX = 10_000
const PAUSE_MS_MIN = 10_000
const PAUSE_MS_MAX = 10 * 60_000
/** A pause grows with the time that the payment has waited. */
const PAUSE_SHARE = 0.25

/** Begins to ask; returns how to end, which waits for what is under way. */
export function keepAsking(context: HubContext, payments: PeerPayments): () => Promise<void> {
  const { memory, timers, alert, now } = context
  let asking: Promise<unknown> | undefined
  /** By how much the clock was ahead of the time since some moment. */
  let offsetMs = Number.POSITIVE_INFINITY
  const turn = async (): Promise<void> => {
    const beforeMs = offsetMs
    offsetMs = now() - timers.monotonic()
    if (offsetMs < beforeMs - PAUSE_MS_MAX) await takeUp(context)
    await askDue(context, payments)
  }
  const look = (): void => {
    asking ??= memory.leader
      .lead('peer payments', turn)
      .catch((error: unknown) => alert('peers could not be asked about payments', { error: wordsOf(error) }))
      .finally(() => {
        asking = undefined
      })
  }
  const timer = timers.every(LOOK_EVERY_MS, look)
  timer.unref()
  return async () => {
    timers.clear(timer)
    await asking
  }
}

/** Questions that a clock which ran ahead, now or before the start, has put off for longer than any pause. */
async function takeUp({ store, now }: HubContext): Promise<void> {
  const nowMs = now()
  for (const row of await store.duePeerPayments(Number.MAX_SAFE_INTEGER, TAKEN_UP_MAX)) {
    const askAtMs = Math.max(overMs(row) + AFTER_END_MS, nowMs)
    if ((row.askAtMs ?? 0) > askAtMs + PAUSE_MS_MAX)
      await store.askPeerPaymentAt({ transaction: row.transaction, askAtMs })
  }
}

/** When nothing can be made of a payment any more, or its hold is over. */
function overMs({ authorization, state }: PeerPayment): number {
  const { notAfter, holdUntil = notAfter } = Authorization.decode(authorization).body
  return state === 'held' ? holdUntil : notAfter
}

async function askDue(context: HubContext, payments: PeerPayments): Promise<void> {
  const due = await context.store.duePeerPayments(context.now(), AT_ONCE)
  await Promise.all(due.map(row => askOne(context, payments, row)))
}

/** The next question stands in the store before this one is asked. */
async function askOne(
  { store, now, alert }: HubContext,
  payments: PeerPayments,
  row: PeerPayment,
): Promise<void> {
  const waitedMs = now() - overMs(row)
  const pauseMs = Math.min(Math.max(waitedMs * PAUSE_SHARE, PAUSE_MS_MIN), PAUSE_MS_MAX)
  await store.askPeerPaymentAt({ transaction: row.transaction, askAtMs: Math.round(now() + pauseMs) })
  try {
    await payments.askAgain(row)
  } catch (error) {
    if (!(error instanceof PaymentRefused))
      alert('a payment at a peer could not be kept', { error: wordsOf(error) })
  }
}
