/** The published chain of a hub's credits for tests of the audit, in memory: records, witnesses, and the tree of an epoch. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { encodeKel, incept, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { chainDid, GENESIS, signRecord } from '../../protocol/proof/evidence.ts'
import { depthOf, liabilityKey, liabilitySalt, pathFrom, sumLevels } from '../../protocol/proof/liability.ts'
import {
  type CreditChange,
  creditIssued,
  creditPayload,
  creditRetired,
  epochPayload,
  supplyEpoch,
} from '../../protocol/proof/supply.ts'
import { WitnessStatement } from '../../protocol/proof/witness.ts'
import type { Liability, ShownStatement, SupplyPage } from '../hubs/hub.ts'
import type { TestNode } from './node.ts'
import type { Post } from './scripted-hub.ts'

const SECRET = new Uint8Array(32).fill(9)

export class ScriptedSupply {
  readonly #post: Post
  readonly #now: () => number
  readonly ids: Uint8Array[] = []
  records: Uint8Array[] = []
  shown: ShownStatement[] = []
  /** What other hubs owe this one. */
  owedByPeers = 0
  #issued = 0
  #retired = 0
  #epoch: { record: Uint8Array; day: number; balances: Map<string, number> } | undefined
  /** Records of one answer. */
  pageMax = 2
  /** What the answers say in the place of the truth. */
  lies: Partial<SupplyPage> = {}
  liabilityLies: Partial<Liability> | undefined = {}
  asked: number[] = []

  constructor(post: Post, now: () => number) {
    this.#post = post
    this.#now = now
    this.epoch(0, new Map())
  }

  #add(eventType: string, payload: ReturnType<typeof creditPayload>): Uint8Array {
    const { seed, log } = this.#post
    const [seq, ts] = [this.records.length, this.#now()]
    const previous = this.ids.at(-1) ?? GENESIS
    const given = { signer: log.aid, keyStateSeq: log.seq, seq, previous, ts, eventType, payload }
    const { record, bytes } = signRecord(seed, given)
    this.ids.push(record.id)
    this.records.push(bytes)
    return bytes
  }

  issue(aid: string, amount: number, reason: CreditChange['reason'] = 'grant'): void {
    this.#issued += amount
    this.#add(creditIssued, creditPayload({ aid, amount, reason }))
  }

  retire(aid: string, amount: number): void {
    this.#retired += amount
    this.#add(creditRetired, creditPayload({ aid, amount, reason: 'redemption' }))
  }

  /** The end of a day, with what is owed to whom. */
  epoch(day: number, balances: Map<string, number>, ledgerHw = 1_000_000): void {
    const accounts = this.#accounts(day, balances)
    const top = balances.size === 0 ? undefined : sumLevels(accounts).at(-1)?.[0]
    const outstanding = this.#issued - this.#retired + this.owedByPeers
    const payload = epochPayload({
      day,
      from_day: day,
      issued: this.#issued,
      retired: this.#retired,
      outstanding,
      held: 0,
      owed_by_peers: this.owedByPeers,
      due_to_peers: 0,
      root: top?.h ?? new Uint8Array(32),
      root_sum: outstanding,
      depth: depthOf(balances.size),
      accounts: balances.size,
      ledger_hw: ledgerHw,
      chain_hw: Math.max(0, this.records.length - 1),
    })
    this.#epoch = { record: this.#add(supplyEpoch, payload), day, balances }
  }

  #accounts(day: number, balances: Map<string, number>) {
    const keyed = [...balances].map(([aid, sum]) => ({
      aid,
      key: liabilityKey(aid, liabilitySalt(SECRET, aid, day)),
      sum,
    }))
    return keyed.sort((a, b) => Buffer.compare(a.key, b.key))
  }

  /** Everything after a place is forgotten. */
  cut(length: number): void {
    this.records = this.records.slice(0, length)
    this.ids.length = length
  }

  /** Somebody signs which record stood at a place; `more`: what is wrong with it. */
  witness(
    name: string,
    seq: number,
    more: { headId?: Uint8Array; observedAt?: number; chain?: string } = {},
  ): void {
    const seed = new Uint8Array(32).fill(name.length + 20)
    const log = incept({ seed, nextSeed: new Uint8Array(32).fill(90), ts: 1 })
    this.shown.push(this.#statement(seed, log, seq, more))
  }

  #statement(
    seed: Uint8Array,
    log: VerifiedKel,
    seq: number,
    more: { headId?: Uint8Array; observedAt?: number; chain?: string },
  ): ShownStatement {
    const { headId = this.ids[seq] ?? GENESIS, observedAt = this.#now(), chain } = more
    const statement = WitnessStatement.sign(seed, {
      v: 1,
      chainDid: chain ?? chainDid(this.#post.log.aid),
      seq,
      headId,
      observedAt,
      witness: log.aid,
      witnessKelSeq: log.seq,
    })
    return { bytes: WitnessStatement.encode(statement), kel: encodeKel(log.events) }
  }

  #page(from: number): SupplyPage {
    this.asked.push(from)
    const records = this.records.slice(from, from + this.pageMax)
    return {
      chainDid: chainDid(this.#post.log.aid),
      records,
      headSeq: this.records.length - 1,
      headId: cidText(this.ids.at(-1) ?? GENESIS),
      isLast: from + records.length >= this.records.length,
      ...this.lies,
    }
  }

  #liability(aid: string): Liability | undefined {
    if (this.#epoch === undefined || this.liabilityLies === undefined) return undefined
    const { record, day, balances } = this.#epoch
    const accounts = this.#accounts(day, balances)
    const position = accounts.findIndex(account => account.aid === aid)
    if (position < 0) return undefined
    const path = pathFrom(sumLevels(accounts), position)
    const salt = liabilitySalt(SECRET, aid, day)
    return { record, balance: balances.get(aid) ?? 0, salt, path, ...this.liabilityLies }
  }

  /** The hub of a node shows it from now on. */
  showTo({ aid, hub }: TestNode): void {
    Object.assign(hub.credits, {
      supplyRecords: async (from: number) => this.#page(from),
      witnessStatements: async () => this.shown,
      liability: async () => this.#liability(aid),
    })
  }
}
