/** What receipts of the hub prove of a payment that went out: noted beside a record that holds the receipt. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { SettlementReceipt, settlementKinds } from '../../protocol/proof/payment.ts'
import type { Context } from '../context.ts'
import { markEnded, markHeld, markPaid, type PaymentRow, paymentOf } from '../store/payments.ts'

type Needs = Pick<Context, 'store' | 'chain' | 'threads' | 'events'>

/** That the credits are held, or went over at once. */
export function noteTaken(ctx: Needs, row: PaymentRow, receipt: Uint8Array): void {
  const isPaid = SettlementReceipt.decode(receipt).body.kind === settlementKinds.paid
  const mark = isPaid ? markPaid : markHeld
  const states = ['authorized'] as const
  record(ctx, row, {
    receipt,
    moved: row.amount,
    states,
    mark: () => mark(ctx.store, row.interaction, receipt),
  })
}

/** How a hold has ended; what its payee took of it, undefined where that was known before. */
export function noteEnd(ctx: Needs, row: PaymentRow, receipt: Uint8Array): number | undefined {
  const { kind, amount } = SettlementReceipt.decode(receipt).body
  const moved = kind === settlementKinds.captured ? amount : row.amount - amount
  const states = ['authorized', 'held'] as const
  const mark = () => markEnded(ctx.store, row.interaction, { receipt, moved })
  return record(ctx, row, { receipt, moved, states, mark }) ? moved : undefined
}

type Proven = { receipt: Uint8Array; moved: number; states: readonly PaymentRow['state'][]; mark: () => void }

/** False where another receipt has said it before. */
function record(
  { store, threads, chain, events }: Needs,
  row: PaymentRow,
  { receipt, moved, states, mark }: Proven,
): boolean {
  return store.transaction(() => {
    const state = paymentOf(store, row.interaction)?.state
    if (state === undefined || !states.includes(state)) return false
    const interaction = threads.byKey(row.interaction)
    const about = { interaction_id: interaction.id, peer: interaction.peer }
    store.afterCommit(() => events.emit('message', about))
    chain.append('svc.payment.settled', {
      interaction_id: interaction.id,
      transaction: cidText(row.payment),
      amount: moved,
      network: row.network,
      verified: true,
      payee: interaction.peer,
      auth_id: cidText(row.payment),
      receipt,
    })
    mark()
    return true
  }, 'node.payment')
}
