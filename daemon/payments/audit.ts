/**
 * What a hub publishes of its credits, read as somebody who is owed some: every record links, epochs say what the records
 * add up to, and the tree of the newest one counts this account. What can't be true stops payments in its credits.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal, fromBase64url, Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { ChainInvalid, ChainRecord, chainDid } from '../../protocol/proof/evidence.ts'
import { leafOf, liabilityKey, pathFault } from '../../protocol/proof/liability.ts'
import { CompactRange } from '../../protocol/proof/merkle.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import { supplyEventOf } from '../../protocol/proof/supply.ts'
import { SupplyFault, type SupplyPlace, SupplyReader } from '../../protocol/proof/supply-reader.ts'
import type { Context } from '../context.ts'
import { isOwnFailure } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import { Loop } from '../platform/loop.ts'
import {
  endAlarm,
  forgetSupplyRead,
  forgetWitnessed,
  keepSupplyRead,
  lastSupplyRead,
} from '../store/hub-accounts.ts'
import { forgetHeads, seenHeads } from '../store/supply-heads.ts'
import { type AccountView, acceptAccount, accountFault, keepCheckpoint } from './account.ts'
import type { Accounts } from './accounts.ts'
import { askCosigned, type Cosignatures, cosignersOf, requireCosigned } from './cosigned.ts'
import type { LostOrder } from './lost-orders.ts'
import { maySign } from './may-sign.ts'
import type { PaymentParts } from './parts.ts'
import { noteAnswer, watchedNetworks } from './previous-accounts.ts'
import { askWitnesses, noteWitnessed, requireAsLong, requireWitnessed, type Witnessed } from './witnesses.ts'

type Needs = Pick<
  Context,
  | 'identity'
  | 'store'
  | 'chain'
  | 'threads'
  | 'hub'
  | 'now'
  | 'hubNow'
  | 'timers'
  | 'log'
  | 'events'
  | 'wakers'
  | 'settings'
  | 'timings'
>

/** `accounts`: at every hub that knows this identity. */
export type KnownAccounts = Accounts & { accounts(): HubClient[] }

const EVERY_MS = 6 * 3_600_000
const FIRST_MS = 10 * 60_000
const ROUND_MS = 10 * 60_000
const AUDIT_MS = 5 * 60_000
/** An audit that this machine could not keep is not read again at once. */
const RESTS = 60
const PAGES_MAX = 10_000

export type AuditReport = {
  hub: string
  records: number
  headSeq: number
  headId: string
  issued: number
  retired: number
  /** UTC day of the newest epoch that was read, and what it says that this agent is owed. */
  day: number | undefined
  owed: number | undefined
  /** The newest record that a witness has seen, and when. */
  witnessed: { seq: number; atMs: number } | undefined
  /** Trees that witnesses which the user named have cosigned, and who of them has cosigned none that is shown. */
  cosigned: Cosignatures
  /** Debits of which this node has no record because it was restored since. */
  afterBackup: readonly LostOrder[]
  fault: string | undefined
}

type Reading = {
  /** The head that the hub names. */
  told: { headSeq: number; headId: string }
  /** Heads that it named before. */
  heads: ReadonlyMap<number, Uint8Array>
  witnessed: Witnessed
  tree: Tree
  signal: AbortSignal
}
/**
 * The tree over the ids of the records that were read, and as it was at the place from which the next audit goes on;
 * undefined where it is not known from the first record on.
 */
type Tree = { whole: CompactRange; atPlace: readonly Uint8Array[] } | undefined
type Kept = { place: SupplyPlace; tree: CompactRange | undefined }

export class Audit {
  readonly #ctx: Needs
  readonly #parts: PaymentParts
  readonly #accounts: KnownAccounts
  readonly #loop: Loop
  #nextAt: number

  constructor(ctx: Needs, parts: PaymentParts, accounts: KnownAccounts) {
    this.#parts = parts
    this.#ctx = ctx
    this.#accounts = accounts
    this.#nextAt = ctx.now() + FIRST_MS
    this.#loop = new Loop({
      name: 'audits',
      waker: ctx.wakers.audits,
      log: ctx.log,
      restFirstMs: RESTS * ctx.timings.backoffFirstMs,
      restMaxMs: ROUND_MS,
      mayRun: () => maySign(ctx.identity, ctx.hub),
      turn: signal => this.#turn(signal),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Everything that is due now, once. */
  look(): Promise<void> {
    return this.#loop.once()
  }

  async #turn(lifetime: AbortSignal): Promise<number> {
    const { store, hub, now, hubNow, timers } = this.#ctx
    const waitMs = this.#nextAt - now()
    // a wait longer than the usual one is from a clock that ran ahead
    const isDue = waitMs <= 0 || waitMs > EVERY_MS
    if (!isDue) return ROUND_MS
    const signal = AbortSignal.any([lifetime, timers.deadline(AUDIT_MS)])
    if (hub.home !== undefined)
      await this.run(hub.home, { all: false, signal }).catch(error => this.#noteFailed(error))
    const previous = this.#accounts.accounts()
    for (const network of watchedNetworks(store, hub, { previous, nowMs: hubNow() })) {
      const left = previous.find(({ identity }) => networkOf(identity.aid) === network)
      if (left !== undefined) await this.#lookAtFormer(left, lifetime)
    }
    this.#nextAt = now() + EVERY_MS
    return ROUND_MS
  }

  /** A hub that was left may have lost what it signed, or the key of this node, as any other. */
  async #lookAtFormer(hub: HubClient, lifetime: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([lifetime, this.#ctx.timers.deadline(AUDIT_MS)])
    try {
      const asked = await this.#accounts.accountOf(networkOf(hub.identity.aid))
      if (asked === undefined) return
      const account = await this.#parts.comparison.compare(asked, signal)
      const fault = accountFault(account)
      this.#ctx.store.transaction(() => {
        if (fault === undefined) keepCheckpoint(this.#ctx.store, hub.identity.aid, account)
        else this.#parts.alarms.raise(hub.identity.aid, fault)
        noteAnswer(this.#ctx.store, hub)
      }, 'node.audit')
    } catch (error) {
      this.#noteFailed(error)
      noteAnswer(this.#ctx.store, hub, error)
    }
  }

  #noteFailed(error: unknown): void {
    if (isOwnFailure(error)) throw error
    this.#ctx.log.warn({ err: error }, 'the hub could not be audited')
  }

  /** A person goes on with a hub in spite of what was found. */
  accept(hub: string): void {
    this.#ctx.store.transaction(() => {
      endAlarm(this.#ctx.store, hub)
      forgetSupplyRead(this.#ctx.store, hub)
      forgetHeads(this.#ctx.store, hub)
      forgetWitnessed(this.#ctx.store, hub)
      acceptAccount(this.#ctx.store, hub, this.#ctx.hubNow())
    }, 'node.audit')
  }

  /** Reads what is new since the last audit, or everything and every signature. */
  async run(hub: HubClient, { all, signal }: { all: boolean; signal: AbortSignal }): Promise<AuditReport> {
    const { identity, store, settings, hubNow } = this.#ctx
    await hub.refresh()
    this.#parts.receipts.noteKeyState(hub.identity.log)
    const heads = seenHeads(store, hub.identity.aid)
    const witnessed = await askWitnesses(store, hub, signal)
    const places = [...heads.keys(), ...witnessed.open.map(({ seq }) => seq)]
    const kept = all ? undefined : this.#placeAt(hub.identity.aid, places)
    const own = all ? undefined : identity.aid
    const reader = new SupplyReader(hub.identity.log, { own, ...(kept && { from: kept.place }) })
    const whole = kept === undefined ? new CompactRange() : kept.tree
    const tree: Tree = whole && { whole, atPlace: [...whole.roots] }
    let cosigned: Cosignatures = { trees: [], silent: [] }
    const told = { headSeq: -1, headId: '' }
    let owed: number | undefined
    let account: AccountView | undefined
    const fault = await faultIn(async () => {
      cosigned = await askCosigned(settings, hub, signal)
      await this.#read(hub, reader, { told, heads, witnessed, tree, signal })
      if (tree !== undefined) await requireCosigned(tree.whole, cosigned.trees, hub, signal)
      account = await this.#parts.comparison.compare(hub, signal)
      owed = await this.#checkTree(hub, reader, account, signal)
    })
    const why = fault ?? (account && accountFault(account))
    store.transaction(() => {
      if (why !== undefined) return this.#parts.alarms.raise(hub.identity.aid, why)
      const cosignedMs = cosigned.trees.flatMap(({ by }) => by.map(({ atMs }) => atMs))
      noteWitnessed(store, hub.identity.aid, witnessed, { cosignedMs, nowMs: hubNow() })
      this.#keep(hub.identity.aid, reader, tree)
      if (account !== undefined) keepCheckpoint(this.#ctx.store, hub.identity.aid, account)
    }, 'node.audit')
    const { length, head } = reader.head
    return {
      hub: hub.identity.aid,
      records: length,
      headSeq: length - 1,
      headId: cidText(head),
      issued: reader.sums.issued,
      retired: reader.sums.retired,
      day: reader.epoch?.epoch.day,
      owed,
      witnessed: newestOf(witnessed),
      cosigned,
      afterBackup: account?.afterBackup ?? [],
      fault: why,
    }
  }

  async #read(hub: HubClient, reader: SupplyReader, reading: Reading): Promise<void> {
    const { told, heads, witnessed, tree, signal } = reading
    for (let page = 0; page < PAGES_MAX; page++) {
      const { length } = reader.head
      const got = await hub.credits.supplyRecords(length, signal)
      if (got.chainDid !== chainDid(hub.identity.aid))
        throw new SupplyFault('the chain is that of another hub', length)
      for (const record of got.records) {
        reader.add(record)
        follow(tree, reader)
        requireSeen(reader.head, heads)
        requireWitnessed(reader.head, witnessed)
      }
      told.headSeq = got.headSeq
      told.headId = got.headId
      if (got.isLast || got.records.length === 0) break
    }
    reader.end()
    const { length, head } = reader.head
    if (told.headSeq !== length - 1 || told.headId !== cidText(head))
      throw new SupplyFault('the head that the hub names is not the last record', length)
    requireAsLong(reader.head, witnessed)
    for (const [seq, id] of heads)
      if (seq > told.headSeq)
        throw new SupplyFault(`the hub showed ${cidText(id)} there, and it is missing`, seq)
  }

  /** The tree of the newest epoch counts this account with what its entries come to; what it says is owed. */
  async #checkTree(
    hub: HubClient,
    reader: SupplyReader,
    { sumAt }: AccountView,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { epoch } = reader
    if (epoch === undefined || epoch.seq === 0) return undefined
    const sum = sumAt(epoch.epoch.ledger_hw)
    const checkSum = (owed: number) => {
      if (owed >= sum) return owed
      const why = `its ledger comes to ${sum} credits for this agent, and the tree of its epoch to ${owed}`
      throw new SupplyFault(why, epoch.seq)
    }
    const proof = await hub.credits.liability(signal)
    if (proof === undefined) return checkSum(0)
    const event = supplyEventOf(ChainRecord.decode(proof.record))
    const isIt = event.kind === 'epoch' && event.epoch.day === epoch.epoch.day
    if (!isIt) throw new SupplyFault('the proof of this account is of another epoch', epoch.seq)
    const { root, root_sum: rootSum, depth, accounts } = epoch.epoch
    const leaf = leafOf(liabilityKey(this.#ctx.identity.aid, proof.salt), proof.balance)
    const why = pathFault(leaf, proof.path, { root, rootSum, depth, accounts })
    if (why !== undefined)
      throw new SupplyFault(
        `this account does not stand in the tree of day ${epoch.epoch.day} (${why})`,
        epoch.seq,
      )
    return checkSum(proof.balance)
  }

  #keep(hub: string, reader: SupplyReader, tree: Tree): void {
    const { store } = this.#ctx
    const { length, head, issued, retired } = reader.place
    const roots = tree?.atPlace.map(root => toBase64url(root))
    keepSupplyRead(store, hub, { length, head, issued, retired, roots })
    const seen = reader.head
    this.#parts.heads.settle(hub, [seen.length - 1, seen.head])
  }

  /** Where the last reading ended; undefined where a head before that was seen since. */
  #placeAt(hub: string, places: readonly number[]): Kept | undefined {
    const kept = lastSupplyRead(this.#ctx.store, hub)
    if (kept === undefined) return undefined
    const { roots, ...place } = kept
    const isBehind = places.some(seq => seq < place.length)
    const tree =
      roots &&
      CompactRange.from(
        place.length,
        roots.map(root => fromBase64url(root)),
      )
    if (isBehind || (tree === undefined && cosignersOf(this.#ctx.settings).length > 0)) return undefined
    return { place, tree }
  }
}

function newestOf({ all }: Witnessed): AuditReport['witnessed'] {
  const [first, ...others] = all
  if (first === undefined) return undefined
  const newest = others.reduce((best, one) => (one.observedAt > best.observedAt ? one : best), first)
  return { seq: newest.seq, atMs: newest.observedAt }
}

/** A record was read; the place lies at the last epoch, and the tree goes on from there. */
function follow(tree: Tree, { head, place }: Pick<SupplyReader, 'head' | 'place'>): void {
  if (tree === undefined) return
  tree.whole.append(head.head)
  if (place.length === tree.whole.size) tree.atPlace = [...tree.whole.roots]
}

/** What was seen at a place of the chain still stands there. */
function requireSeen({ length, head }: { length: number; head: Uint8Array }, heads: Reading['heads']): void {
  const seen = heads.get(length - 1)
  if (seen !== undefined && !equal(seen, head))
    throw new SupplyFault(`the hub showed another one before, ${cidText(seen)}`, length - 1)
}

/** What can't be true in what a hub published; a hub that does not answer says nothing about its credits. */
async function faultIn(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    if (error instanceof SupplyFault || error instanceof ChainInvalid || error instanceof Malformed)
      return error.message
    throw error
  }
}
