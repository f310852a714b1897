/** Witnesses of the supply chain (hub API §6, objects: supply): whom the operator named, and what they signed. */
import { labelled } from '../../../protocol/crypto/hash.ts'
import { equal, Malformed } from '../../../protocol/encoding/bytes.ts'
import {
  decodeKel,
  encodeKel,
  KelInvalid,
  keyAt,
  storedKel,
  type VerifiedKel,
} from '../../../protocol/identity/kel.ts'
import { chainDid } from '../../../protocol/proof/evidence.ts'
import { type WitnessBody, WitnessStatement } from '../../../protocol/proof/witness.ts'
import type { SupplyHead } from '../../store/ledger-port.ts'
import type { WitnessRow } from '../../store/witness-port.ts'
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import { CLOCK_WINDOW_MS, DAY_MS } from '../limits.ts'
import { eventsOf, type KeyLogs } from '../membership/key-logs.ts'
import { Refusal } from '../refusal.ts'
import { PROOF_DAYS, type SupplyChain } from './chain.ts'

export const WITNESSES_MAX = 64

/** A statement that is kept, read again; `kel` with the newest one of each witness. */
export type ShownStatement = { body: WitnessBody; bytes: Uint8Array; kel: Uint8Array | undefined }
export type WitnessList = {
  statements: ShownStatement[]
  named: Pick<WitnessRow, 'aid' | 'url'>[]
  /** Place of the newest record that a witness has seen, and when it was seen last. */
  latest: { seq: number; observedMs: number } | undefined
  /** Records after that one. */
  unwitnessed: number
}

export type Given = { attestation: Uint8Array; kel: Uint8Array | undefined; address: string }
type Parts = { agents: Agents; keyLogs: KeyLogs; supply: Pick<SupplyChain, 'head'> }

export class Witnesses {
  readonly #context: HubContext
  readonly #parts: Parts

  constructor(context: HubContext, parts: Parts) {
    this.#context = context
    this.#parts = parts
  }

  /** Takes a statement of a named witness; whoever else sends one costs no signature. */
  async take({ attestation, kel, address }: Given): Promise<'stored' | 'unchanged'> {
    const statement = readStatement(attestation)
    const { body } = statement
    this.#checkBody(body)
    const row = await this.#context.store.witness(body.witness)
    const isAgent = (await this.#parts.agents.findRegistered(body.witness)) !== undefined
    if (row === undefined || isAgent) throw new Refusal('unknownAgent')
    const own = await this.#recordAt(body.seq)
    const agrees = own !== undefined && equal(own.id, body.headId)
    if (agrees && (await this.#isOld(body))) return 'unchanged'
    const log = await this.#logOf(row, kel, address)
    await this.#checkSignature(log, statement)
    const encoded = encodeKel(log.events)
    if (!agrees) return await this.#conflict(body, own, { row, kel: encoded, statement: attestation })
    const kept = await this.#context.store.keepStatement({
      witness: body.witness,
      seq: body.seq,
      observedMs: body.observedAt,
      statement: attestation,
      kel: encoded,
      keptSinceDay: Math.floor(this.#context.now() / DAY_MS) - PROOF_DAYS,
    })
    return kept ? 'stored' : 'unchanged'
  }

  #checkBody({ chainDid: chain, observedAt }: WitnessBody): void {
    const { identity, now } = this.#context
    if (chain !== chainDid(identity.aid))
      throw new Refusal('requestMalformed', { why: 'the statement is about the chain of another hub' })
    if (observedAt > now() + CLOCK_WINDOW_MS)
      throw new Refusal('requestMalformed', { why: 'its time is ahead of the clock of this hub' })
  }

  async #recordAt(seq: number): Promise<SupplyHead | undefined> {
    const [record] = await this.#context.store.supplyRecords(seq, 1)
    return record?.seq === seq ? record : undefined
  }

  async #isOld({ witness, seq, observedAt }: WitnessBody): Promise<boolean> {
    const all = await this.#context.store.witnessStatements()
    const newest = all.find(kept => kept.witness === witness)
    return newest !== undefined && (seq < newest.seq || observedAt <= newest.observedMs)
  }

  /** The longest log of a witness: the one held, or one that came along and goes on from it. */
  async #logOf(row: WitnessRow, kel: Uint8Array | undefined, address: string): Promise<VerifiedKel> {
    const held = row.kel && storedKel(decodeKel(row.kel))
    if (kel === undefined && held === undefined)
      throw new Refusal('requestMalformed', {
        why: 'the key history of this witness is not known here yet, and kel is missing',
      })
    const log = kel === undefined ? held : await this.#longest(row.aid, kel, held, address)
    if (log === undefined || log.deactivated) throw new Refusal('identityDeactivated')
    return log
  }

  async #longest(aid: string, kel: Uint8Array, held: VerifiedKel | undefined, address: string) {
    try {
      return await this.#parts.keyLogs.longest({ aid, events: eventsOf(aid, kel), address }, held)
    } catch (error) {
      throw error instanceof KelInvalid ? new Refusal('keyLogInvalid', { why: error.message }) : error
    }
  }

  async #checkSignature(log: VerifiedKel, { body, bodyBytes, signature }: WitnessStatement): Promise<void> {
    const key = body.witnessKelSeq === log.seq ? keyAt(log, log.seq) : undefined
    const message = labelled(WitnessStatement.label, bodyBytes)
    if (key !== undefined && (await this.#context.verifier.verify(key, message, signature))) return
    throw new Refusal('requestMalformed', {
      why: 'the signature does not hold under the newest key of the witness that is known here',
    })
  }

  /** A witness has seen another history, or a longer one: both are told, and the operator is. */
  async #conflict(
    { witness, seq, headId }: WitnessBody,
    held: SupplyHead | undefined,
    { row, ...ahead }: { row: WitnessRow; kel: Uint8Array; statement: Uint8Array },
  ): Promise<never> {
    const own = held ?? this.#parts.supply.head
    const heads = { own: { seq: own.seq, id: own.id }, witnessed: { seq, id: headId } }
    if (await this.#isWorse(held, seq, row)) await this.#context.store.keepAhead({ witness, ...ahead })
    this.#context.alert('a witness has seen another supply chain', { witness, seq, own_seq: own.seq })
    throw new Refusal('headConflict', { heads })
  }

  /** Whether a statement says more than the kept one: another record here before one that is missing, then the latest. */
  async #isWorse(held: SupplyHead | undefined, seq: number, { ahead }: WitnessRow): Promise<boolean> {
    if (ahead === undefined) return true
    const { body } = WitnessStatement.decode(ahead)
    const own = await this.#recordAt(body.seq)
    const contradicts = own !== undefined && !equal(own.id, body.headId)
    if (contradicts) return false
    return held !== undefined || seq > body.seq
  }

  /** All that is kept, for everybody. */
  async list(): Promise<WitnessList> {
    const { store } = this.#context
    const named = await store.witnesses()
    const kept = await store.witnessStatements()
    const kels = new Map(named.map(({ aid, kel }) => [aid, kel]))
    const statements = kept.map(({ witness, statement: bytes }) => {
      const kel = kels.get(witness)
      kels.delete(witness)
      return { body: WitnessStatement.decode(bytes).body, bytes, kel }
    })
    const newest = kept.reduce<WitnessList['latest']>(
      (best, { seq, observedMs }) => ({
        seq: Math.max(best?.seq ?? 0, seq),
        observedMs: Math.max(best?.observedMs ?? 0, observedMs),
      }),
      undefined,
    )
    const { seq } = this.#parts.supply.head
    return { statements, named, latest: newest, unwitnessed: seq - (newest?.seq ?? -1) }
  }
}

function readStatement(bytes: Uint8Array): WitnessStatement {
  try {
    return WitnessStatement.decode(bytes)
  } catch (error) {
    if (error instanceof Malformed) throw new Refusal('requestMalformed', { why: error.message })
    throw error
  }
}
