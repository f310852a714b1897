/**
 * What a copy of this node that is lost may have paid for tasks that are still here. After a restore the hub is asked what
 * it was shown to have signed, and whoever asks a price what it holds; until then nothing is paid by itself, and what was
 * paid is paid once more by a person alone.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { present } from '../../protocol/encoding/present.ts'
import { AUTHORIZATION_LIFE_MAX_MS, hubOfNetwork, networkOf } from '../../protocol/proof/payment.ts'
import { shellWord } from '../../protocol/shell.ts'
import type { Waker } from '../platform/waker.ts'
import { refuse } from '../refusal.ts'
import { keepLostAsked, lostAskedOf, unprovenSince } from '../store/hub-accounts.ts'
import { isNumberOpen } from '../store/interactions.ts'
import { lostTasks } from '../store/lost.ts'
import type { Store } from '../store/open.ts'
import { firstGiven, spentSince } from '../store/open-payments.ts'
import { paymentById } from '../store/payments.ts'
import type { QuoteRow } from '../store/quotes.ts'
import { answeredTo, lastRestore } from '../store/restores.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { knownLostOrders, type LostOrder, type LostOrders, missingSince, openHolds } from './lost-orders.ts'
import type { Asked } from './refund-calls.ts'

type Priced = Pick<QuoteRow, 'interaction' | 'network'>

/**
 * `signed`, `unproven`: as its hub shows it ({@link LostOrder}) · `said`: by the word of whom it went to, and the hub has
 * not shown it.
 */
export type LostPayment = {
  state: 'signed' | 'unproven' | 'said'
  transaction?: string
  amount?: number
  atMs?: number
  /** The task that it was for, as its payee says. */
  lostTask?: string
}
/** `hub`, `peer`: what they know is not known here yet · `paid`: it may have been paid for. */
export type Doubt = { state: 'hub' | 'peer' } | { state: 'paid'; payments: readonly LostPayment[] }

/** What an order of a lost copy can still move is looked at so often. */
const AGAIN_MS = 3_600_000
/** An order may be carried out so long after the restore. */
const LATE_MS = AUTHORIZATION_LIFE_MAX_MS + 3_600_000

function askedOf(store: Store, hub: string): ReturnType<typeof lostAskedOf> {
  const asked = lostAskedOf(store, hub)
  // a backup may have been made after the question of an earlier restore
  return asked?.settledMs === lastRestore(store)?.settledMs ? asked : undefined
}

/** Asks hubs what copies that are lost have ordered. */
export class LostQuestions {
  readonly #store: Store
  readonly #orders: LostOrders
  readonly #spending: Waker
  readonly #hubNow: () => number

  constructor(
    { store, orders, spending }: { store: Store; orders: LostOrders; spending: Waker },
    hubNow: () => number,
  ) {
    this.#store = store
    this.#orders = orders
    this.#spending = spending
    this.#hubNow = hubNow
  }

  /** In how long a hub is to be asked what lost copies ordered there; undefined where nothing more can come of it. */
  dueInMs(hub: string): number | undefined {
    if (missingSince(this.#store, this.#hubNow()) === undefined) return undefined
    const asked = askedOf(this.#store, hub)
    if (asked === undefined) return 0
    const isOver =
      asked.atMs > asked.settledMs + LATE_MS && openHolds(this.#store, networkOf(hub)).length === 0
    return isOver ? undefined : Math.max(0, Math.min(AGAIN_MS, asked.atMs + AGAIN_MS - this.#hubNow()))
  }

  /** Asks a hub what lost copies ordered there, and keeps that it was asked. */
  async ask(hub: Asked, signal: AbortSignal): Promise<void> {
    const settledMs = lastRestore(this.#store)?.settledMs
    if (settledMs === undefined) return
    const atMs = this.#hubNow()
    const orders = await this.#orders.at(hub, await hub.credits.entriesAfter(0, signal), signal)
    const unproven = orders
      .filter(({ state }) => state === 'unproven')
      .map(({ seq, transaction: id, amount, atMs: at, counterparty = null, reason }) => {
        return { seq, id, amount, at, counterparty, reason }
      })
    this.#store.transaction(() => {
      keepLostAsked(this.#store, hub.identity.aid, { settledMs, atMs, unproven })
      this.#store.afterCommit(() => this.#spending.wake())
    }, 'node.audit')
  }
}

export class LostPayments {
  readonly #store: Store
  readonly #threads: Threads
  readonly #hubNow: () => number

  constructor(store: Store, threads: Threads, hubNow: () => number) {
    this.#store = store
    this.#threads = threads
    this.#hubNow = hubNow
  }

  /** What has to be known, or a person has to decide, before a price is paid by itself; undefined where nothing has. */
  doubtOf(quote: Priced): Doubt | undefined {
    const hub = hubOfNetwork(quote.network ?? '')
    if (hub === undefined || missingSince(this.#store, this.#hubNow()) === undefined) return undefined
    if (askedOf(this.#store, hub) === undefined) return { state: 'hub' }
    const interaction = this.#threads.byKey(quote.interaction)
    if (!mayBePaid(this.#store, interaction)) return undefined
    const payments = this.#paidTo(interaction.peer)
    if (payments.length > 0) return { state: 'paid', payments }
    const { settledMs = 0 } = lastRestore(this.#store) ?? {}
    const isSaid = !isNumberOpen(interaction) && answeredTo(this.#store, interaction.peer) >= settledMs
    return isSaid ? undefined : { state: 'peer' }
  }

  /** A person pays once more what a lost copy may have paid only where that is said; its hub was asked before. */
  requireUnpaid(quote: Priced & Pick<QuoteRow, 'holdSeconds'>, { id }: Pick<Interaction, 'id'>): void {
    const doubt = this.doubtOf(quote)
    if (doubt?.state !== 'paid') return
    const again = `svc approve ${shellWord(id)} --again`
    const next = quote.holdSeconds === null ? `${again} --unheld` : again
    refuse('wrong_state', `${sayPaid(doubt.payments)}; nothing was paid now`, next)
  }

  /** What went out without a person since a time, and whatever lost copies paid then: to all, or to one agent. */
  spent(since: number, to: string | undefined): number {
    const lost = this.#outgoing().filter(
      ({ atMs, counterparty }) => atMs >= since && (to === undefined || counterparty === to),
    )
    const sum = lost.reduce((all, { amount, moved = amount }) => all + moved, 0)
    return spentSince(this.#store, since, to) + sum
  }

  /** Every payment that lost copies made, as far as hubs show it, without what came back. */
  #outgoing(): LostOrder[] {
    const known = knownLostOrders(this.#store, this.#hubNow())
    const shown = new Set(known.map(({ transaction }) => transaction))
    const unproven = unprovenHere(this.#store).filter(({ transaction }) => !shown.has(transaction))
    return [...known, ...unproven].filter(isPayment)
  }

  /** What lost copies paid to an agent, by what hubs show and by its own word. */
  #paidTo(peer: string): LostPayment[] {
    const shown = this.#outgoing().filter(({ counterparty }) => counterparty === peer)
    const returned = new Set(
      knownLostOrders(this.#store, this.#hubNow()).flatMap(one => (one.moved === 0 ? [one.transaction] : [])),
    )
    const said = lostTasks(this.#store).flatMap(({ id, peer: by, payment }) =>
      by !== peer || payment === null || paymentById(this.#store, payment) !== undefined
        ? []
        : [{ id, transaction: cidText(payment) }],
    )
    const taskOf = new Map(said.map(({ id, transaction }) => [transaction, id]))
    const isShown = (transaction: string) => shown.some(one => one.transaction === transaction)
    return [
      ...shown.map(({ state, transaction, amount, atMs }) => ({
        state,
        amount,
        atMs,
        // what a hub calls an order that it does not show is its own word
        ...present({
          transaction: state === 'signed' ? transaction : undefined,
          lostTask: taskOf.get(transaction),
        }),
      })),
      ...said.flatMap(({ id, transaction }) =>
        isShown(transaction) || returned.has(transaction)
          ? []
          : [{ state: 'said' as const, transaction, lostTask: id }],
      ),
    ]
  }
}

/** Whether a lost copy had this task, or one in whose place it was delegated anew. */
function mayBePaid(store: Store, { key, startedAt }: Interaction): boolean {
  const { lastTask, settledMs = 0 } = lastRestore(store) ?? {}
  return lastTask === undefined ? startedAt <= settledMs : firstGiven(store, key) <= lastTask
}

const isPayment = ({ reason, moved }: LostOrder): boolean =>
  reason !== 'refund' && reason !== 'redemption' && moved !== 0

/** Debits since the last restore for which their hubs showed no order. */
function unprovenHere(store: Store): LostOrder[] {
  const settledMs = lastRestore(store)?.settledMs
  if (settledMs === undefined) return []
  return unprovenSince(store, settledMs).map(({ seq, id, amount, at, counterparty, reason }) => {
    const order = { seq, transaction: id, amount, atMs: at, counterparty: counterparty ?? undefined, reason }
    return { state: 'unproven', ...order }
  })
}

const KNOWN_BY: Record<LostPayment['state'], string> = {
  signed: 'as its hub shows',
  unproven: 'as its hub says without showing an order',
  said: 'as the other side says',
}

/** What is known of the payments that a price may have been paid with, in words that go on with what it costs. */
export function sayPaid(payments: readonly LostPayment[]): string {
  const each = payments.slice(0, 3).map(({ state, amount, atMs, lostTask }) => {
    const credits = amount === undefined ? 'credits' : `${amount} credits`
    const at = atMs === undefined ? '' : ` at ${new Date(atMs).toISOString()}`
    return `${credits} to this agent${at}${lostTask === undefined ? '' : ` for ${lostTask}`} (${KNOWN_BY[state]})`
  })
  const more = payments.length > each.length ? ` and ${payments.length - each.length} times more` : ''
  return `after the backup that was restored, a copy of this node that is lost paid ${each.join(', ')}${more}, maybe for this task; a person says whether it is paid once more`
}

const WAITING = {
  hub: 'the rules of this node decide about it once its hub has shown what a copy of it that is lost has paid since the backup',
  peer: 'the rules of this node decide about it once the other side has said what it holds since the backup that was restored here',
}

/** The sentence of a doubt about a price, in words that stand alone. */
export const sayDoubt = (doubt: Doubt): string =>
  doubt.state === 'paid' ? sayPaid(doubt.payments) : WAITING[doubt.state]
