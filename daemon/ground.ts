/** Opens a data directory: every part of the node that stands below the line, from the bottom up. */
import type { Logger } from 'pino'
import { cidText } from '../protocol/crypto/hash.ts'
import { Attachments } from './attachments/attachments.ts'
import { type Chain, openChain } from './chain/chain.ts'
import type { Ground } from './context.ts'
import { type Environment, homeDirectory, runtimeDirectory } from './home/home.ts'
import { type KeptHead, KeptHeads } from './home/kept-heads.ts'
import { lockDirectory } from './home/lock.ts'
import { Settings } from './home/settings.ts'
import { CurrentHub } from './hubs/current.ts'
import { openIdentity } from './identity/identity.ts'
import { MailboxKeys } from './identity/mailbox-keys.ts'
import { Capabilities } from './peers/capabilities.ts'
import { Contacts } from './peers/contacts.ts'
import { PeerBook } from './peers/peers.ts'
import { Clock } from './platform/clock.ts'
import { Events } from './platform/events.ts'
import { ensureSecretDirectory, removeTemporary } from './platform/files.ts'
import { defaultTimings, type Timings } from './platform/timings.ts'
import { makeWakers } from './platform/waker.ts'
import { openStore } from './store/open.ts'
import { Threads } from './store/threads.ts'

export type GroundOptions = {
  dir: string
  env: Environment
  now: () => number
  random: (length: number) => Uint8Array
  log: Logger
  timings?: Partial<Timings>
}

/** Everything that is opened is closed with `undo`. */
export async function openGround(options: GroundOptions, undo: AsyncDisposableStack): Promise<Ground> {
  const { dir, env, random, log } = options
  const clock = new Clock(options.now)
  const { now } = clock
  ensureSecretDirectory(dir)
  undo.use(lockDirectory(dir))
  removeTemporary(dir)
  const identity = openIdentity(dir, { now, random })
  const store = undo.adopt(openStore(dir), opened => opened.close())
  const chain = undo.adopt(await openChain(dir, store, identity, now), opened => opened.close())
  const keys = new MailboxKeys(dir, { now, random })
  const events = new Events(now())
  const wakers = makeWakers()
  const hub = new CurrentHub(identity, events, clock)
  const attachments = new Attachments(store.folder, random, [dir, homeDirectory(env), runtimeDirectory(env)])
  store.onTaskFailed = error => log.error({ err: error }, 'after a commit')
  const kept = new KeptHeads(env, identity)
  hub.oldCopy = behindKept(chain, kept.read())
  const keep = () => kept.keep(headOf(chain))
  if (hub.oldCopy === undefined) keep()
  undo.defer(() => {
    if (hub.oldCopy === undefined) keep()
  })
  chain.onAppend = () => {
    kept.follow(() => headOf(chain))
    events.emit('evidence', { length: chain.length })
  }
  attachments.clean(store)
  return {
    dir,
    identity,
    keys,
    store,
    chain,
    contacts: new Contacts(store, now),
    peers: new PeerBook(store, now, hub),
    capabilities: new Capabilities(store, keys, { identity, now, random }),
    attachments,
    threads: new Threads(store, identity, { now, random, onQueued: () => wakers.outbox.wake() }),
    hub,
    settings: new Settings(dir, () => events.emit('settings')),
    wakers,
    timings: { ...defaultTimings, ...options.timings },
    events,
    log,
    now,
    hubNow: () => hub.timeMs,
    random,
  }
}

function headOf(chain: Chain): KeptHead {
  const [length, id] = chain.position
  return { length, headId: cidText(id) }
}

/** Why this directory is an older copy, when this machine has seen a newer one. */
function behindKept(chain: Chain, kept: KeptHead | undefined): string | undefined {
  if (kept === undefined) return undefined
  const id = chain.idAt(kept.length)
  if (id !== undefined && cidText(id) === kept.headId) return undefined
  const found = id === undefined ? `ends at record ${chain.length}` : 'holds another record there'
  return `the evidence chain of this identity had reached record ${kept.length} on this machine and this directory ${found}: it is an old copy; stop the node and put the newest copy in its place, or, if that is lost, run svc evidence accept`
}
