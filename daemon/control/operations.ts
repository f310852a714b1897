/** The operations of the node as plain functions, one for each row of the control table. */
import { type OperationName, operations } from '../../protocol/control/operations.ts'
import type { Context } from '../context.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Publication } from '../hubs/publication.ts'
import type { Identity } from '../identity/identity.ts'
import { cardWarning } from '../membership/card.ts'
import { clockAheadWarning } from '../membership/clock-ahead.ts'
import type { Membership } from '../membership/membership.ts'
import type { Sync } from '../membership/sync.ts'
import type { Modules } from '../modules/modules.ts'
import type { Taking } from '../p2p/direct.ts'
import type { Audit } from '../payments/audit.ts'
import { LostPayments } from '../payments/lost-payments.ts'
import type { Wallet } from '../payments/wallet.ts'
import { refuse } from '../refusal.ts'
import type { AutoReply } from '../tasks/auto-reply.ts'
import type { ReviewUploads } from '../tasks/reviews.ts'
import { type A2aPort, a2aOperations } from './a2a.ts'
import { OwnHubs } from './accounts.ts'
import type { ControlAddress } from './address.ts'
import type { AttachmentLinks } from './attachments.ts'
import { autoReplyOperations } from './auto-reply-operations.ts'
import { backupOperations } from './backup.ts'
import { boardOperations } from './board.ts'
import { capabilityOperations } from './capabilities.ts'
import { consoleLink } from './console.ts'
import { ContactBook, contactOperations } from './contact-operations.ts'
import { draftOperations } from './drafts.ts'
import { chainOperations, headOperations } from './evidence.ts'
import type { FreshHosts } from './fresh-hosts.ts'
import { GivenTasks } from './given-tasks.ts'
import type { Handlers, NodeOperations, PaymentOperations, TaskOperations } from './handlers.ts'
import { elsewhereNote, hubOperations } from './hub-operations.ts'
import { identityOperations } from './identity-operations.ts'
import { listOperations, searchOperations } from './list-operations.ts'
import { pullMail } from './listing.ts'
import { p2pOperations } from './p2p.ts'
import { balancesOf, directoryOf, taskReading, warningsOf } from './parts.ts'
import { waitsView } from './payment-warnings.ts'
import { auditOperations, PaymentGate, refundOperations, walletOperations } from './payments.ts'
import { type Priced, priceOperations, spendOperations } from './price-operations.ts'
import { profileOperations } from './profile-operations.ts'
import { Publishing } from './publishing.ts'
import { TaskFiles } from './pulling.ts'
import { Recipients } from './recipients.ts'
import { Restored } from './restored.ts'
import { redemptionRules, refundRules, taskRules } from './rules.ts'
import { OwnStanding, statusView } from './status.ts'
import { TaskFinder } from './task-finder.ts'
import {
  approvalOperations,
  givingOperations,
  proofOperations,
  speakingOperations,
  type TaskPayer,
  withdrawingOperations,
} from './task-operations.ts'
import { fileOperations, threadOperations } from './thread-operations.ts'
import type { Tickets } from './tickets.ts'

type AnyHandler = (given: unknown, signal: AbortSignal) => Promise<unknown>

export type TaskParts = {
  links: AttachmentLinks
  reviews: Pick<ReviewUploads, 'firstAnswer'>
  payer: TaskPayer
}

/** The operations on tasks, by which other interfaces of the node give tasks as its clients do. */
export function openedTasks(ctx: Context, parts: TaskParts): TaskOperations {
  return guarded(ctx, taskOperations(ctx, parts))
}

/** The same without a look at whether this node may sign. */
export function taskOperations(ctx: Context, { links, reviews, payer }: TaskParts): TaskOperations {
  const { identity, store, contacts, threads, attachments, hub, wakers, events, now } = ctx
  const rules = taskRules(ctx)
  const { payments, views, lists, waiting, restored } = taskReading(ctx)
  const tasks = new TaskFinder(threads, restored)
  const recipients = new Recipients({ identity, hub, directory: directoryOf(ctx), store })
  const given = new GivenTasks({ store, threads, waiting, now })
  const files = new TaskFiles(store, threads, attachments)
  const { uploads } = attachments
  const giving = { rules, tasks, recipients, given, payments, store, uploads }
  return {
    ...givingOperations(giving, payer !== undefined),
    ...listOperations({ tasks, lists, waiting, pull: () => pullMail(hub, wakers.relay, events) }),
    ...searchOperations(store, contacts),
    ...threadOperations({ store, tasks, views, waiting, shown: given }),
    ...fileOperations({ tasks, files, links }),
    ...speakingOperations({ rules, tasks, recipients, store, attachments }),
    ...approvalOperations({ rules, tasks, asker: ctx, payer }),
    ...withdrawingOperations({ rules, tasks, payments, store, events }),
    ...proofOperations({ rules, tasks, reviews }),
  }
}

export type PaymentParts = {
  modules: Priced
  /** Undefined in a build that pays nobody. */
  wallet: Pick<Wallet, 'header' | 'redeem' | 'move' | 'askForReceipts'> | undefined
  audit: Pick<Audit, 'run' | 'accept'> | undefined
  membership: Pick<Membership, 'account' | 'accounts'>
}

const DAY_MS = 86_400_000

export function paymentOperations(ctx: Context, parts: PaymentParts): PaymentOperations {
  const { identity, hub, settings, contacts, wakers, timers, hubNow } = ctx
  const { modules, wallet, audit, membership } = parts
  const gate = new PaymentGate(wallet, hub)
  const requirePayments = () => gate.requirePayments()
  const hubs = new OwnHubs({ identity, hub, membership, timers })
  const tasks = new TaskFinder(ctx.threads, new Restored(ctx.store, contacts, hubNow))
  const changed = () => wakers.rounds.wake()
  const lost = new LostPayments(ctx.store, ctx.threads, hubNow)
  const spentToday = () => lost.spent(Math.floor(hubNow() / DAY_MS) * DAY_MS, undefined)
  return {
    ...priceOperations({ settings, hub, modules, changed, requirePayments }),
    ...spendOperations({ settings, spentToday, requirePayments }),
    ...auditOperations({ gate, audit, settings, asker: ctx, hubs }),
    ...walletOperations({ gate, asker: ctx, hubs, contacts, redemptions: redemptionRules(ctx) }),
    ...refundOperations({ gate, asker: ctx, hubs, tasks, refunds: refundRules(ctx) }),
  }
}

export type NodeParts = {
  membership: Membership
  sync: Sync
  autoReply: AutoReply
  control: ControlAddress
  tickets: Tickets
  hosts: FreshHosts
  publication: Publication
  modules: Modules
  /** Undefined in a build without direct delivery. */
  direct: Taking | undefined
  version: string
  /** Looks at once at everything that waits for its time. */
  wake: () => void
  shutdown: () => void
  lifetime: AbortSignal
}

function nodeOperations(ctx: Context, parts: NodeParts): NodeOperations {
  const { dir, identity, store, contacts, peers, capabilities, hub, settings, events, timers, now } = ctx
  const { membership, sync, publication, lifetime, wake, autoReply } = parts
  const hubs = new OwnHubs({ identity, hub, membership, timers })
  const directory = directoryOf(ctx)
  const balances = balancesOf(ctx)
  const publishing = new Publishing(ctx, { hub, publication, sync }, lifetime)
  const book = new ContactBook({ store, contacts, peers, capabilities, stock: ctx.topUps })
  const noteOf = (at: HubClient) => cardWarning(store, at) ?? elsewhereNote(contacts, peers, at.identity.aid)
  const sayAnew = () => clockAheadWarning(store, identity.aid, now())
  const ending = { wake, lifetime }
  const changed = () => {
    events.emit('settings')
    // a new contact is told where this node is reached
    if (settings.current.p2p?.address !== undefined) ctx.wakers.rounds.wake()
  }
  return {
    ...overview(ctx, parts),
    async find(given) {
      return directory.find(hubs.home(), given)
    },
    async agentPrices({ aid }) {
      return directory.pricesOnCard(hubs.home(), aid)
    },
    async balance({ hub: url }) {
      return balances.at(await hubs.account(url))
    },
    ...contactOperations({ identity, book, changed, wake }),
    ...hubOperations({ identity, timers, settings, membership, publishing, noteOf, sayAnew }, ending),
    ...profileOperations({ asker: ctx, settings, events, publishing, home: () => hubs.home(), hub }),
    ...p2pOperations({
      ...{ asker: ctx, settings, membership, home: () => hubs.home(), hub, contacts, store },
      taking: parts.direct,
    }),
    ...autoReplyOperations(settings, autoReply),
    ...identityOperations({ identity, hub, membership, timers, waits: () => waitsView(store, now) }, ending),
    ...chainOperations({ dir, identity, chain: ctx.chain, now }),
    ...headOperations(store, contacts),
    ...backupOperations({ dir, identity, settings, events, now }),
    ...draftOperations(dir, ctx.attachments.uploads),
    ...boardOperations({ asker: ctx, contacts, home: () => hubs.home() }),
    ...capabilityOperations(parts.modules),
  }
}

function overview(
  ctx: Context,
  { membership, autoReply, control, tickets, hosts, version, shutdown }: NodeParts,
): Pick<NodeOperations, 'status' | 'shutdown' | 'consoleTicket'> {
  const { dir, identity, store, chain, hub, settings, contacts, now } = ctx
  const own = new OwnStanding({ dir, identity, chain, version })
  const restored = new Restored(store, contacts, ctx.hubNow)
  const warnings = warningsOf(ctx, autoReply, control)
  return {
    async status() {
      const parts = { own, store, hub, settings, membership, restored, warnings, autoReply, control }
      return statusView(parts, now())
    },
    async shutdown() {
      shutdown()
      return { state: 'stopping' }
    },
    async consoleTicket() {
      return consoleLink({ settings, tickets, hosts, control })
    },
  }
}

type Parts = NodeParts & PaymentParts & { tasks: TaskOperations; a2a: A2aPort }

export function operationsOf(ctx: Context, { tasks, a2a, ...parts }: Parts): Handlers {
  return {
    ...tasks,
    ...guarded(ctx, {
      ...nodeOperations(ctx, parts),
      ...paymentOperations(ctx, parts),
      ...a2aOperations(ctx.settings, a2a),
    }),
  }
}

type Signing = { identity: Identity; hub: CurrentHub }

/** Whatever changes something signs something, which an ended identity and an old copy of one must not. */
function guarded<H extends Partial<Handlers>>(signing: Signing, handlers: H): H {
  const rows = Object.entries(handlers).map(([name, handler]) => {
    const { staysOpen } = operations[name as OperationName]
    return [name, staysOpen ? handler : guard(signing, handler as AnyHandler)]
  })
  return Object.fromEntries(rows) as H
}

function guard({ identity, hub }: Signing, handler: AnyHandler): AnyHandler {
  return async (given, signal) => {
    if (hub.comparing !== undefined) await hub.comparing
    if (identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
    const why = hub.oldCopy ?? hub.unsettled
    if (why !== undefined) refuse('old_copy', why)
    return handler(given, signal)
  }
}
