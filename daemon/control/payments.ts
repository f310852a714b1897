/** Operations on payments: paying by header, redeeming, giving back, comparing with the hub, auditing it. */

import { Malformed } from '../../protocol/encoding/bytes.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { parseVerifierKey } from '../../protocol/proof/cosignature.ts'
import { hubOfNetwork, networkOf } from '../../protocol/proof/payment.ts'
import type { Settings } from '../home/settings.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { AccountView } from '../payments/account.ts'
import type { Audit } from '../payments/audit.ts'
import type { AuditReport } from '../payments/published-credits.ts'
import type { Wallet } from '../payments/wallet.ts'
import type { Contacts } from '../peers/contacts.ts'
import { refuse } from '../refusal.ts'
import type { OwnHubs } from './accounts.ts'
import type { PaymentOperations } from './handlers.ts'
import { type Asker, hubAsked } from './hub-call.ts'
import { lostOrderView } from './restored.ts'
import type { RedemptionRules, RefundRules } from './rules.ts'
import type { TaskFinder } from './task-finder.ts'

const REDEEM_MS = 20_000
const AUDIT_MS = 10 * 60_000
const NO_SUPPORT = 'this build has no payment support'

type Paying = Pick<Wallet, 'header' | 'redeem' | 'move' | 'askForReceipts'>

/** Whether credits may move now: in a build that pays, once the hub was asked whether another copy has moved them. */
export class PaymentGate {
  readonly #wallet: Paying | undefined
  readonly #hub: CurrentHub

  constructor(wallet: Paying | undefined, hub: CurrentHub) {
    this.#wallet = wallet
    this.#hub = hub
  }

  /** Refuses in a build without payments. */
  requirePayments(): Paying {
    return this.#wallet ?? refuse('no_credits', NO_SUPPORT, 'svc version')
  }

  requireMoving(): Paying {
    const wallet = this.requirePayments()
    if (this.#hub.unasked !== undefined) refuse('hub_unreachable', this.#hub.unasked)
    return wallet
  }
}

type AuditParts = {
  gate: PaymentGate
  /** Undefined in a build that pays nobody. */
  audit: Pick<Audit, 'run' | 'accept'> | undefined
  settings: Settings
  asker: Asker
  hubs: OwnHubs
}

export function auditOperations({
  gate,
  audit,
  settings,
  asker,
  hubs,
}: AuditParts): Pick<PaymentOperations, 'auditHub'> {
  return {
    async auditHub({ all = false, accept, hub: url, cosigner, forget_cosigner: forgotten }) {
      gate.requirePayments()
      nameCosigners(settings, cosigner, forgotten)
      const hub = await hubs.account(url)
      if (accept === true) audit?.accept(hub.identity.aid)
      const work = (signal: AbortSignal) => audit?.run(hub, { all, signal })
      const report = await hubAsked(asker, async signal => work(signal), AUDIT_MS)
      return report === undefined ? refuse('no_credits', NO_SUPPORT) : reportView(report)
    },
  }
}

type WalletParts = {
  gate: PaymentGate
  asker: Asker
  hubs: OwnHubs
  contacts: Contacts
  redemptions: RedemptionRules
}

/** A network that was named needs no hub. */
const unlessGiven = (network: string | undefined) => (error: unknown) => {
  if (network === undefined) throw error
  return undefined
}

export function walletOperations({
  gate,
  asker,
  hubs,
  contacts,
  redemptions,
}: WalletParts): Pick<PaymentOperations, 'payHeader' | 'redeem' | 'moveCredits'> {
  return {
    async payHeader(given) {
      const paying = gate.requireMoving()
      const payTo =
        contacts.resolve(given.pay_to) ?? refuse('unknown_peer', `"${given.pay_to}" is not a contact`)
      const account = await hubs.account(given.hub).catch(unlessGiven(given.network))
      const own = account && networkOf(account.identity.aid)
      const network = given.network ?? own ?? ''
      if (hubOfNetwork(network) === undefined)
        refuse('bad_request', 'expected a network: hub: and the AID of the hub')
      const { amount, interaction_id: interaction, timeout_s: seconds, extra } = given
      const textOf = network === own ? account?.credits.textOf : undefined
      return { header: paying.header({ payTo, amount, network, interaction, seconds, extra, textOf }) }
    },
    async redeem({ hub: url, ...given }) {
      const paying = gate.requireMoving()
      const own = redemptions.referenceFor(given)
      const openAt = () => redemptions.openAt(given.amount, own) ?? ''
      const hub = await (url === undefined ? hubs.ofNetwork(openAt()) : hubs.account(url))
      const redeemed = async (signal: AbortSignal) => {
        await redemptions.requireNoneLost(hub, given, signal)
        return await paying.redeem(hub, given.amount, own, signal)
      }
      return await hubAsked(asker, redeemed, REDEEM_MS)
    },
    async moveCredits({ hub: url, amount }) {
      const paying = gate.requireMoving()
      const home = hubs.home()
      const network = networkOf((await hubs.left(url)).identity.aid)
      const moved = (signal: AbortSignal) => paying.move(home, { network, amount }, signal)
      return await hubAsked(asker, moved, REDEEM_MS)
    },
  }
}

type RefundParts = {
  gate: PaymentGate
  asker: Asker
  hubs: OwnHubs
  tasks: TaskFinder
  refunds: RefundRules
}

export function refundOperations({
  gate,
  asker,
  hubs,
  tasks,
  refunds,
}: RefundParts): Pick<PaymentOperations, 'refund' | 'reconcile'> {
  return {
    async refund({ interaction_id: id, amount, again }) {
      gate.requireMoving()
      const interaction = tasks.find(id) ?? refuse('unknown_interaction', `there is no interaction ${id}`)
      const hub = await hubs.ofNetwork(refunds.networkOf(interaction))
      const settle = async (signal: AbortSignal) => {
        await refunds.requireKnown(hub, interaction, { again, signal })
        const prepared = refunds.prepare(interaction, amount)
        const renew = () => refunds.renew(interaction, amount)
        return await refunds.settle(hub, interaction, { prepared, renew, signal })
      }
      return await hubAsked(asker, settle, REDEEM_MS)
    },
    async reconcile({ hub: url }) {
      const paying = gate.requirePayments()
      const hub = await hubs.account(url)
      const ask = () => hubAsked(asker, signal => paying.askForReceipts(hub, signal), REDEEM_MS)
      const compare = () => hubAsked(asker, signal => refunds.compare(hub, signal), REDEEM_MS)
      return await reconciled(hub, ask, compare)
    },
  }
}

async function reconciled(
  hub: HubClient,
  ask: () => ReturnType<Wallet['askForReceipts']>,
  compare: () => Promise<AccountView>,
) {
  const asked = await ask()
  const first = await compare()
  // what the hub lost is ordered anew, and shows whether it has it now
  const { open } = first.again ? await ask() : asked
  const compared = comparedView(first.again ? await compare() : first)
  const agrees = compared.agrees && open.every(({ problem }) => problem === undefined)
  return { network: networkOf(hub.identity.aid), ...compared, ...asked, open, agrees }
}

/** Takes up, or drops, a witness of transparency logs whose cosignatures this node goes by. */
function nameCosigners(settings: Settings, key: string | undefined, forgotten: string | undefined): void {
  if (key === undefined && forgotten === undefined) return
  const held = settings.current.cosigners ?? []
  const name = key === undefined ? forgotten : nameOfKey(key)
  const others = held.filter(one => nameOfKey(one) !== name)
  if (key === undefined && others.length === held.length)
    refuse('bad_request', `no witness of that name is known here: ${shownLine(name ?? '')}`)
  const next = key === undefined ? others : [...others, key]
  settings.change({ cosigners: next.length === 0 ? undefined : next })
}

function nameOfKey(key: string): string {
  try {
    return parseVerifierKey(key).name
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    return refuse(
      'bad_request',
      `${error.message}; its operator has it, such as witness.example+1a2b3c4d+BPdK…`,
    )
  }
}

const comparedView = ({ entries, unsigned, afterBackup, missing, lost, short }: AccountView) => ({
  entries: entries.length,
  agrees:
    unsigned.length + missing.length + lost.length === 0 &&
    afterBackup.every(({ state }) => state === 'signed') &&
    short === undefined,
  unknown: unsigned.map(({ transaction = '', delta, atMs: at }) => ({
    transaction: shownLine(transaction),
    delta,
    at,
  })),
  after_backup: afterBackup.map(lostOrderView),
  missing: missing.map(({ transaction, kind, amount, atMs: at }) => ({ transaction, kind, amount, at })),
  ...present({ short }),
})

const reportView = (report: AuditReport) => ({
  hub: report.hub,
  verified: report.fault === undefined,
  records: report.records,
  head_seq: report.headSeq,
  head_id: report.headId,
  issued: report.issued,
  retired: report.retired,
  ...present({
    fault: report.fault,
    after_backup: report.afterBackup.length === 0 ? undefined : report.afterBackup.map(lostOrderView),
    day: report.day,
    owed: report.owed,
    outstanding: report.outstanding,
    owed_by_peers: report.owedByPeers,
    witnessed_seq: report.witnessed?.seq,
    witnessed_at: report.witnessed?.atMs,
    cosigned: cosignedView(report),
    uncosigned: report.cosigned.silent.length === 0 ? undefined : report.cosigned.silent,
  }),
})

function cosignedView({ cosigned: { trees } }: AuditReport) {
  const all = trees.flatMap(({ size: records, by }) =>
    by.map(({ name, atMs: at }) => ({ name, records, at })),
  )
  return all.length === 0 ? undefined : all
}
