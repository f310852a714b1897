/** The hub as one thing: its parts composed over one store, its housekeeping, its end. */
import { Agents } from './agents.ts'
import { Board } from './board/board.ts'
import { Challenges } from './challenges.ts'
import { lastStoredMs, SignerClocks } from './clocks.ts'
import type { HubContext } from './context.ts'
import { Directory } from './directory.ts'
import { keepAsking } from './federation/asking-peers.ts'
import { AgentsAtPeers } from './federation/at-peers.ts'
import type { PeerCalls } from './federation/calls.ts'
import { Clearing } from './federation/clearing.ts'
import { Facilitator } from './federation/facilitator.ts'
import { Federation } from './federation/federation.ts'
import { KeptClearing } from './federation/keep-clearing.ts'
import { PaidDebts } from './federation/paid-debts.ts'
import { PeerPayments } from './federation/peer-payments.ts'
import { PeerReceipts } from './federation/peer-receipts.ts'
import { PublishedDebts } from './federation/published-debts.ts'
import { readPeers } from './federation/read-peers.ts'
import { ShownProofs } from './federation/shown-proofs.ts'
import { Gateway } from './gateway/gateway.ts'
import { Guests } from './guests/guests.ts'
import { endVisits } from './guests/visits.ts'
import { HeldPolls } from './held-polls.ts'
import { AgentsHere } from './here.ts'
import type { HubIdentity } from './identity.ts'
import { Credits } from './ledger/credits.ts'
import { HoldClock } from './ledger/hold-clock.ts'
import { Issuance } from './ledger/issuance.ts'
import { Settlements } from './ledger/settlements.ts'
import { Statements } from './ledger/statements.ts'
import { Mailboxes } from './mailbox.ts'
import { Admission } from './membership/admission.ts'
import { Invites } from './membership/invites.ts'
import { KeyLogs } from './membership/key-logs.ts'
import { OpenJoining } from './membership/open-joining.ts'
import { type EndSigner, Registry } from './membership/registry.ts'
import { Moderation } from './moderation/moderation.ts'
import {
  federateOpenMail,
  type OpenFederation,
  type OpenFederationParts,
} from './open-federation/open-federation.ts'
import { OpenMail } from './open-mail/open-mail.ts'
import { OpenReviews } from './open-reviews/open-reviews.ts'
import { collectOrphans } from './orphans.ts'
import { Reviews } from './reviews.ts'
import { Sends } from './sends.ts'
import { Sessions } from './sessions.ts'
import { SupplyChain } from './supply/chain.ts'
import { Checkpoints } from './supply/checkpoints.ts'
import type { EpochMaker } from './supply/epochs.ts'
import { BookKeeper } from './supply/keeper.ts'
import { LiveSupply } from './supply/live-supply.ts'
import { Publication } from './supply/publication.ts'
import { liabilitySecret } from './supply/secret.ts'
import { Witnesses } from './supply/witnesses.ts'

const SWEEP_EVERY_MS = 60_000
const SWEEP_ROWS_MAX = 500

export type Hub = {
  context: HubContext
  agents: Agents
  registry: Registry
  sends: Sends
  mailboxes: Mailboxes
  board: Board
  challenges: Challenges
  invites: Invites
  moderation: Moderation
  openJoining: OpenJoining
  openMail: OpenMail
  openReviews: OpenReviews
  /** Undefined where open mail stays at this hub. */
  openFederation: OpenFederation | undefined
  directory: Directory
  federation: Federation
  reviews: Reviews
  credits: Credits
  facilitator: Facilitator
  peerPayments: PeerPayments
  clearing: Clearing
  shownProofs: ShownProofs
  keptClearing: KeptClearing
  paidDebts: PaidDebts
  publishedDebts: PublishedDebts
  liveSupply: LiveSupply
  gateway: Gateway
  guests: Guests
  issuance: Issuance
  supply: SupplyChain
  checkpoints: Checkpoints
  witnesses: Witnesses
  statements: Statements
  publication: Publication
  books: BookKeeper
  sessions: Sessions
  polls: HeldPolls
  clocks: SignerClocks
  /** Signs under a newer key state of the hub from here on. */
  adoptIdentity: (identity: HubIdentity) => void
  /** Ends what an agent holds open. */
  endSigner: EndSigner
  /** Reads at once what peers tell; resolves when that has ended. */
  readPeersNow: () => Promise<void>
  /** Ends held polls and housekeeping; the store stays open. */
  stop(): Promise<void>
}

/** Composes a hub over an open store and starts its housekeeping. */
export async function composeHub(
  context: HubContext,
  makeEpoch: EpochMaker,
  calls: PeerCalls,
  openPeers?: OpenFederationParts,
): Promise<Hub> {
  const agents = new Agents(context)
  const lastMs = await lastStoredMs(context.store)
  const sealed = openSealedMail(context, agents, calls)
  const { clocks, mailboxes, polls, sends, endSigner } = sealed
  const directory = new Directory(context)
  const federation = new Federation(context, { directory, mailboxes, calls })
  const keyLogs = new KeyLogs(context)
  const supply = await SupplyChain.open(context)
  const issuance = new Issuance(context, supply)
  const clock = await HoldClock.open(context, lastMs)
  const credits = new Credits(context, { agents, supply, clock })
  const across = openPayments(context, { agents, calls, federation, supply, credits })
  const membership = openMembership(context, { agents, keyLogs, endSigner, issuance })
  const open = openParts(context, { agents, credits, cards: membership.openJoining })
  const around = federateOpenMail(context, openPeers, {
    agents,
    keyLogs,
    federation,
    openMail: open.openMail,
  })
  const orphans = await collectOrphans(context)
  const swept = [mailboxes, open.openMail, open.guests, around.received, ...orphans]
  const stopSweeping = keepSweeping(swept, context)
  const reading = readPeers(context, { agents, keyLogs, federation, calls })
  const publication = new Publication(context.store, () => liabilitySecret(context))
  const checkpoints = new Checkpoints(context, supply)
  const books = new BookKeeper(context, { supply, credits, issuance, publication, clocks, makeEpoch })
  return {
    context,
    agents,
    ...membership,
    ...sealed,
    ...open,
    openFederation: around.openFederation,
    directory,
    federation,
    reviews: new Reviews(context, agents, keyLogs),
    credits,
    ...across,
    issuance,
    supply,
    statements: new Statements(context),
    ...{ publication, checkpoints, books },
    witnesses: new Witnesses(context, { agents, keyLogs, supply }),
    async readPeersNow() {
      await Promise.all([reading.now(), around.readNow()])
    },
    adoptIdentity(identity) {
      Object.assign(context.identity, identity)
      agents.forgetNotices()
    },
    async stop() {
      polls.endAll()
      sends.close()
      stopSweeping()
      await open.guests.stop()
      await Promise.all([reading.stop(), around.stop(), across.stop()])
      await context.memory.leader.stop()
      await books.stop()
    },
  }
}

/** Mail that nobody here can read, and what is known of who sends and collects it. */
function openSealedMail(context: HubContext, agents: Agents, calls: PeerCalls) {
  const clocks = new SignerClocks(context)
  const sessions = new Sessions(context)
  const polls = new HeldPolls(context.limits.heldPollsMax, context.memory.wakeUps, context.timers)
  const sends = new Sends(context, [
    new AgentsHere(context, { agents, clocks, sessions, polls }),
    new AgentsAtPeers(context, sessions, calls),
  ])
  const mailboxes = new Mailboxes(context, { agents, polls })
  const endSigner: EndSigner = async ({ row }) => {
    await sessions.endAll(row.aid)
    polls.end(row.number)
    if (!row.registered) await endVisits(context.memory.guests, row.aid)
    if (!row.registered && row.keys === undefined) await context.memory.shares.forget(row.number)
  }
  return { clocks, sessions, polls, sends, mailboxes, endSigner }
}

type OpenParts = { agents: Agents; credits: Credits; cards: OpenJoining }

/** What serves agents whose mail the hub can read. */
function openParts(context: HubContext, { agents, credits, cards }: OpenParts) {
  const openMail = new OpenMail(context, agents)
  return {
    board: new Board(context),
    challenges: new Challenges(context),
    openMail,
    openReviews: new OpenReviews(context, agents),
    gateway: new Gateway(context, { openMail, credits, cards }),
    guests: new Guests(context, { agents, openMail }),
    liveSupply: new LiveSupply(context, credits),
  }
}

type MemberParts = { agents: Agents; keyLogs: KeyLogs; endSigner: EndSigner; issuance: Issuance }

/** The two ways in: with keys to seal to, and with mail that the hub can read. */
function openMembership(context: HubContext, { agents, endSigner, ...parts }: MemberParts) {
  const { store, now, identity } = context
  const admission = new Admission(context)
  const invites = new Invites(context)
  return {
    invites,
    moderation: new Moderation({ store, now, aid: identity.aid, agents, endSigner }),
    registry: new Registry(context, agents, { ...parts, endSigner, admission }),
    openJoining: new OpenJoining(context, { ...parts, agents, admission, invites }),
  }
}

type AcrossParts = {
  agents: Agents
  calls: PeerCalls
  federation: Federation
  supply: SupplyChain
  credits: Credits
}

/** Payments in the credits of peers, about which they are asked until it is stopped, and what each owes the other. */
function openPayments(context: HubContext, { agents, calls, federation, supply, credits }: AcrossParts) {
  const settlements = new Settlements(context, supply)
  const payments = new PeerPayments(context, {
    agents,
    calls,
    receipts: new PeerReceipts(context, federation),
    settlements,
    holds: credits.holds,
  })
  const proofs = new ShownProofs(context, { federation, payments, settlements, credits, supply })
  const clearing = new Clearing(context, { calls, proofs })
  const published = new PublishedDebts(context, calls, federation)
  const kept = new KeptClearing(context, { clearing, published })
  const stopAsking = keepAsking(context, payments)
  const stop = async () => {
    clearing.end()
    await Promise.all([stopAsking(), kept.stop()])
  }
  return {
    facilitator: new Facilitator({ credits, peerPayments: payments, shownProofs: proofs }),
    peerPayments: payments,
    clearing,
    shownProofs: proofs,
    keptClearing: kept,
    paidDebts: new PaidDebts(context, supply),
    publishedDebts: published,
    stop,
  }
}

/** Returns how to sweep no more; a sweep under way ends with its leader. */
function keepSweeping(
  kept: readonly { sweep(limit: number): Promise<boolean> }[],
  { memory, timers, alert }: HubContext,
): () => void {
  const sweep = async (): Promise<void> => {
    try {
      await memory.leader.lead('sweep', async turn => {
        for (const one of kept) while (!turn.isOver && (await one.sweep(SWEEP_ROWS_MAX)));
      })
    } catch (error) {
      alert('sweep failed', { error: error instanceof Error ? error.message : String(error) })
    }
  }
  const timer = timers.every(SWEEP_EVERY_MS, () => void sweep())
  timer.unref()
  return () => timers.clear(timer)
}
