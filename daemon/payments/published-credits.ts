/**
 * What a hub publishes of its credits, read as somebody who is owed some: every record links, epochs say what the records
 * add up to, and the tree of the newest one counts this account. What can't be true stops payments in its credits.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal, fromBase64url, Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { ChainInvalid, ChainRecord, chainDid } from '../../protocol/proof/evidence.ts'
import { leafOf, liabilityKey, pathFault } from '../../protocol/proof/liability.ts'
import { CompactRange } from '../../protocol/proof/merkle.ts'
import { supplyEventOf } from '../../protocol/proof/supply.ts'
import { SupplyFault, type SupplyPlace, SupplyReader } from '../../protocol/proof/supply-reader.ts'
import type { Settings } from '../home/settings.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import {
  endAlarm,
  forgetSupplyRead,
  forgetWitnessed,
  keepSupplyRead,
  lastSupplyRead,
} from '../store/hub-accounts.ts'
import { noteHubKeySeen } from '../store/hub-keys-seen.ts'
import type { Store } from '../store/open.ts'
import { forgetHeads, seenHeads } from '../store/supply-heads.ts'
import {
  type AccountComparison,
  type AccountView,
  acceptAccount,
  accountFault,
  keepCheckpoint,
} from './account.ts'
import type { Alarms } from './alarms.ts'
import { askCosigned, type Cosignatures, cosignersOf, requireCosigned } from './cosigned.ts'
import type { LostOrder } from './lost-orders.ts'
import type { SeenHeads } from './seen-heads.ts'
import { askWitnesses, noteWitnessed, requireAsLong, requireWitnessed, type Witnessed } from './witnesses.ts'

const PAGES_MAX = 10_000

export type AuditReport = {
  hub: string
  records: number
  headSeq: number
  headId: string
  issued: number
  retired: number
  /** UTC day of the newest epoch. */
  day: number | undefined
  /** What it says that this agent is owed, where no earlier audit read it. */
  owed: number | undefined
  /** At the end of that day: all credits of this hub, and how many of them rest on debts of other hubs. */
  outstanding: number | undefined
  owedByPeers: number | undefined
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

type PublishedParts = {
  identity: Identity
  store: Store
  settings: Settings
  comparison: AccountComparison
  heads: SeenHeads
  alarms: Alarms
}

export class PublishedCredits {
  readonly #identity: Identity
  readonly #store: Store
  readonly #settings: Settings
  readonly #comparison: AccountComparison
  readonly #heads: SeenHeads
  readonly #alarms: Alarms
  readonly #hubNow: () => number

  constructor(
    { identity, store, settings, comparison, heads, alarms }: PublishedParts,
    hubNow: () => number,
  ) {
    this.#identity = identity
    this.#store = store
    this.#settings = settings
    this.#comparison = comparison
    this.#heads = heads
    this.#alarms = alarms
    this.#hubNow = hubNow
  }

  /** A person goes on with a hub in spite of what was found. */
  accept(hub: string): void {
    this.#store.transaction(() => {
      endAlarm(this.#store, hub)
      forgetSupplyRead(this.#store, hub)
      forgetHeads(this.#store, hub)
      forgetWitnessed(this.#store, hub)
      acceptAccount(this.#store, hub, this.#hubNow())
    }, 'node.audit')
  }

  /** Reads what is new since the last audit, or everything and every signature. */
  async run(hub: HubClient, { all, signal }: { all: boolean; signal: AbortSignal }): Promise<AuditReport> {
    const [store, hubNow] = [this.#store, this.#hubNow]
    await hub.refresh()
    noteHubKeySeen(store, hub.identity.aid, hub.identity.log.seq, hubNow)
    const heads = seenHeads(store, hub.identity.aid)
    const witnessed = await askWitnesses(store, hub, signal)
    const places = [...heads.keys(), ...witnessed.open.map(({ seq }) => seq)]
    const kept = all ? undefined : this.#placeAt(hub.identity.aid, places)
    const own = all ? undefined : this.#identity.aid
    const reader = new SupplyReader(hub.identity.log, { own, ...(kept && { from: kept.place }) })
    const whole = kept === undefined ? new CompactRange() : kept.tree
    const tree: Tree = whole && { whole, atPlace: [...whole.roots] }
    let cosigned: Cosignatures = { trees: [], silent: [] }
    const told = { headSeq: -1, headId: '' }
    let owed: number | undefined
    let account: AccountView | undefined
    const fault = await faultIn(async () => {
      cosigned = await askCosigned(this.#settings, hub, signal)
      await this.#read(hub, reader, { told, heads, witnessed, tree, signal })
      if (tree !== undefined) await requireCosigned(tree.whole, cosigned.trees, hub, signal)
      account = await this.#comparison.compare(hub, signal)
      owed = await this.#checkTree(hub, reader, account, signal)
    })
    const why = fault ?? (account && accountFault(account))
    store.transaction(() => {
      if (why !== undefined) return this.#alarms.raise(hub.identity.aid, why)
      const cosignedMs = cosigned.trees.flatMap(({ by }) => by.map(({ atMs }) => atMs))
      noteWitnessed(store, hub.identity.aid, witnessed, { cosignedMs, nowMs: hubNow() })
      this.#keep(hub.identity.aid, reader, tree)
      if (account !== undefined) keepCheckpoint(this.#store, hub.identity.aid, account)
    }, 'node.audit')
    const { length, head } = reader.head
    return {
      hub: hub.identity.aid,
      records: length,
      headSeq: length - 1,
      headId: cidText(head),
      issued: reader.sums.issued,
      retired: reader.sums.retired,
      day: reader.newest?.day,
      owed,
      outstanding: reader.newest?.outstanding,
      owedByPeers: reader.newest?.owed_by_peers,
      witnessed: newestOf(witnessed),
      cosigned,
      afterBackup: account?.afterBackup ?? [],
      fault: why,
    }
  }

  async #read(hub: HubClient, reader: SupplyReader, reading: Reading): Promise<void> {
    const { told, heads, witnessed, tree, signal } = reading
    // the record with which the last reading ended comes once more
    let repeats = Math.min(reader.head.length, 1)
    for (let page = 0; page < PAGES_MAX; page++) {
      const { length } = reader.head
      const got = await hub.credits.supplyRecords(length - repeats, signal)
      if (got.chainDid !== chainDid(hub.identity.aid))
        throw new SupplyFault('the chain is that of another hub', length)
      for (const record of got.records.slice(0, repeats)) reader.again(record)
      for (const record of got.records.slice(repeats)) {
        reader.add(record)
        follow(tree, reader)
        requireSeen(reader.head, heads)
        requireWitnessed(reader.head, witnessed)
      }
      told.headSeq = got.headSeq
      told.headId = got.headId
      repeats = 0
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
    if (epoch === undefined || epoch.seq === 0 || !hub.credits.can.proves) return undefined
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
    const leaf = leafOf(liabilityKey(this.#identity.aid, proof.salt), proof.balance)
    const why = pathFault(leaf, proof.path, { root, rootSum, depth, accounts })
    if (why !== undefined)
      throw new SupplyFault(
        `this account does not stand in the tree of day ${epoch.epoch.day} (${why})`,
        epoch.seq,
      )
    return checkSum(proof.balance)
  }

  #keep(hub: string, reader: SupplyReader, tree: Tree): void {
    const store = this.#store
    const { length, head, issued, retired } = reader.place
    const roots = tree?.atPlace.map(root => toBase64url(root))
    keepSupplyRead(store, hub, { length, head, issued, retired, roots })
    const seen = reader.head
    this.#heads.settle(hub, [seen.length - 1, seen.head])
  }

  /** Where the last reading ended; undefined where a head before that was seen since. */
  #placeAt(hub: string, places: readonly number[]): Kept | undefined {
    const kept = lastSupplyRead(this.#store, hub)
    if (kept === undefined) return undefined
    const { roots, ...place } = kept
    const isBehind = places.some(seq => seq < place.length)
    const tree =
      roots &&
      CompactRange.from(
        place.length,
        roots.map(root => fromBase64url(root)),
      )
    if (isBehind || (tree === undefined && cosignersOf(this.#settings).length > 0)) return undefined
    return { place, tree }
  }
}

function newestOf({ all }: Witnessed): AuditReport['witnessed'] {
  const [newest] = all.toSorted((a, b) => b.observedAt - a.observedAt)
  return newest && { seq: newest.seq, atMs: newest.observedAt }
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
