/** The hub as one thing: its parts composed over one store, its housekeeping, its end. */
import { addressBucket } from './address.ts'
import { Agents } from './agents.ts'
import { SignerClocks } from './clocks.ts'
import type { HubContext } from './context.ts'
import { Directory } from './directory.ts'
import { HeldPolls } from './held-polls.ts'
import { Mailboxes } from './mailbox.ts'
import { RateBuckets } from './rate.ts'
import { Refusal } from './refusal.ts'
import { Registry } from './registry.ts'
import { Reviews } from './reviews.ts'
import { Sessions } from './sessions.ts'

const SWEEP_EVERY_MS = 60_000
const SWEEP_ROWS_MAX = 500

export type Hub = {
  context: HubContext
  agents: Agents
  registry: Registry
  mailboxes: Mailboxes
  directory: Directory
  reviews: Reviews
  sessions: Sessions
  polls: HeldPolls
  clocks: SignerClocks
  /** Counts one status query of an address; throws when it asks too often. */
  takeStatus(address: string): void
  /** Removes a blob unless a row names it after all, as after a commit whose answer was lost. */
  removeUnused(file: string): Promise<void>
  /** Ends held polls and housekeeping; the store stays open. */
  stop(): Promise<void>
}

/** Composes a hub over an open store and starts its housekeeping. */
export async function composeHub(context: HubContext): Promise<Hub> {
  const agents = new Agents(context)
  const sessions = new Sessions(context)
  const polls = new HeldPolls(context.limits.heldPollsMax)
  const mailboxes = new Mailboxes(context, agents, sessions, polls)
  const registry = new Registry(context, agents, agent => {
    sessions.endAll(agent.row.aid)
    polls.end(agent.row.number)
  })
  const clocks = await SignerClocks.open(context.store, context.now())
  await context.blobs.collect(context.now(), names => context.store.unusedFiles(names))
  const statusQueries = new RateBuckets(context.limits.statusRate)
  const sweeping = keepSweeping(mailboxes, context)
  return {
    context,
    agents,
    registry,
    mailboxes,
    directory: new Directory(context),
    reviews: new Reviews(context, agents),
    sessions,
    polls,
    clocks,
    takeStatus(address) {
      const waitMs = statusQueries.take(addressBucket(address), context.now())
      if (waitMs > 0) throw new Refusal('rateLimited', { retryAfterMs: waitMs })
    },
    async removeUnused(file) {
      if (context.store.health().broken) return
      await context.blobs.remove(await context.store.unusedFiles([file]))
    },
    async stop() {
      polls.endAll()
      await sweeping.stop()
    },
  }
}

function keepSweeping(mailboxes: Mailboxes, context: HubContext): { stop(): Promise<void> } {
  let running: Promise<void> = Promise.resolve()
  let stopped = false
  const sweep = async (): Promise<void> => {
    try {
      while (!stopped && (await mailboxes.sweep(SWEEP_ROWS_MAX)));
    } catch (error) {
      context.alert('sweep failed', { error: error instanceof Error ? error.message : String(error) })
    }
  }
  const timer = setInterval(() => {
    running = running.then(sweep)
  }, SWEEP_EVERY_MS)
  timer.unref()
  return {
    async stop() {
      stopped = true
      clearInterval(timer)
      await running
    },
  }
}
