/** What this program asks of another hub: who it is, its supply chain, what its witnesses say, and what it keeps of ours. */
import { type Call, call, Refused } from '../../protocol/contract/client.ts'
import type { ReplyOf, RouteRow } from '../../protocol/contract/route.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { connectionFault, Failure, tlsFault } from '../../protocol/encoding/errors.ts'
import { decodeKel, type VerifiedKel, verifyKel } from '../../protocol/identity/kel.ts'
import { chainDid } from '../../protocol/proof/evidence.ts'
import type { Timers } from '../../protocol/timers.ts'
import { headers, WIRE } from '../../protocol/wire3/headers.ts'
import { wire3Routes as routes } from '../../protocol/wire3/routes.ts'

const CALL_TIMEOUT_MS = 60_000
const PAGE = 500

/** Another hub can't be reached, or its answer is not what it should be. */
export class OtherHubFailed extends Failure {
  override name = 'OtherHubFailed'
}

export type SupplyPage = { records: Uint8Array[]; headSeq: number; headId: string; isLast: boolean }
export type KeptPage = { records: Uint8Array[]; length: number; isLast: boolean }

/** Says in other words that an AID is unknown there. */
async function insteadOfUnknown<T>(asked: Promise<T>, sentence: string): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof Refused && error.code === 'unknown_aid') throw new OtherHubFailed(sentence)
    throw error
  }
}

export class OtherHub {
  readonly url: string
  readonly #timers: Timers

  constructor(url: string, timers: Timers) {
    this.url = url
    this.#timers = timers
  }

  /** Its key history, verified. */
  async log(): Promise<VerifiedKel> {
    const { aid, kel } = await this.#ask(routes.hubIdentity, {})
    const log = verifyKel(decodeKel(fromBase64url(kel)))
    if (log.aid !== aid)
      throw new OtherHubFailed(`${this.url} shows a key history that is not its own; check the address`)
    return log
  }

  async supplyPage(hub: string, from: number): Promise<SupplyPage> {
    const query = { from: String(from), limit: String(PAGE) }
    const page = await this.#ask(routes.issuance, { query })
    if (page.chain_did !== chainDid(hub))
      throw new OtherHubFailed(`${this.url} shows the chain of another hub, ${page.chain_did}`)
    return {
      records: page.entries.map(({ record }) => fromBase64url(record)),
      headSeq: page.head_seq,
      headId: page.head_id,
      isLast: page.next === undefined || page.entries.length === 0,
    }
  }

  /** Statements of one witness that it shows, as bytes. */
  async statementsOf(witness: string): Promise<Uint8Array[]> {
    const { attestations } = await this.#ask(routes.witnesses, {})
    return attestations
      .filter(shown => shown.witness === witness)
      .map(({ attestation }) => fromBase64url(attestation))
  }

  async submit(witness: string, statement: Uint8Array, kel: Uint8Array): Promise<'stored' | 'unchanged'> {
    const body = { attestation: toBase64url(statement), kel: toBase64url(kel) }
    const sent = this.#ask(routes.witness, { body })
    const unnamed = `the hub at ${this.url} takes no word of this witness; its operator names it with: svc-hub witness add ${witness} (an agent of that hub can't be one)`
    return (await insteadOfUnknown(sent, unnamed)).status
  }

  /** Records of a chain that it watches, as it keeps them. */
  async keptPage(hub: string, from: number): Promise<KeptPage> {
    const query = { from: String(from), limit: String(PAGE) }
    const asked = this.#ask(routes.witnessed, { params: { aid: hub }, query })
    const page = await insteadOfUnknown(
      asked,
      `the directory that the hub at ${this.url} serves from keeps nothing of the chain of ${hub}; give the url of a witness that ran there: svc-hub witness run <url of your hub>`,
    )
    const records = page.records.map(record => fromBase64url(record))
    return { records, length: page.length, isLast: from + records.length >= page.length }
  }

  async #ask<R extends RouteRow>(
    row: R,
    given: Pick<Call<R>, 'params' | 'query'> & { body?: unknown },
  ): Promise<ReplyOf<R>> {
    const signal = this.#timers.deadline(CALL_TIMEOUT_MS)
    const send = ({ url, ...request }: { url: string; method: string; headers: Record<string, string> }) =>
      fetch(url, { ...request, redirect: 'error' } as RequestInit)
    const asked = { ...given, baseUrl: this.url, headers: { [headers.wire]: String(WIRE) }, signal }
    try {
      return await call(row, send, asked as unknown as Call<R>)
    } catch (error) {
      if (!(error instanceof TypeError) && !(error instanceof DOMException)) throw error
      const found = tlsFault(error)
      throw new OtherHubFailed(
        found === undefined
          ? `${this.url} does not answer: ${connectionFault(error)}; check the address, and try again later`
          : `no secure connection to ${this.url}: ${found}; its operator mends that, or the proxy in front`,
        { cause: error },
      )
    }
  }
}
