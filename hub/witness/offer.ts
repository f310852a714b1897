/**
 * Offers the checkpoint of the supply chain to witnesses of transparency logs (C2SP tlog-witness), at the start and every
 * hour, and keeps their cosignatures. One that has seen a larger tree, or another of this size, is told to the operator.
 */
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { checkpointOffer } from '../../protocol/proof/cosignature.ts'
import type { Alert } from '../core/context.ts'
import { HOUR_MS } from '../core/limits.ts'
import type { Checkpoints, LogWitness, SignedTree } from '../core/supply/checkpoints.ts'

const ANSWER_TIMEOUT_MS = 30_000
const ANSWER_BYTES_MAX = 16 * 1024
const CONFLICT = 409

type Answer = { status: number; text: string }

export class CheckpointOffers {
  readonly #checkpoints: Checkpoints
  readonly #witnesses: readonly LogWitness[]
  readonly #alert: Alert
  readonly #timer: NodeJS.Timeout | undefined
  readonly #ended = new AbortController()
  /** Sizes that witnesses have cosigned, as far as they told. */
  readonly #sizes = new Map<string, number>()
  #running: Promise<void> = Promise.resolve()

  constructor(checkpoints: Checkpoints, witnesses: readonly LogWitness[], alert: Alert) {
    this.#checkpoints = checkpoints
    this.#witnesses = witnesses
    this.#alert = alert
    if (witnesses.length === 0) return
    this.#timer = setInterval(() => void this.turn(), HOUR_MS)
    this.#timer.unref()
    void this.turn()
  }

  /** Offers the newest checkpoint to all; turns follow each other. */
  turn(): Promise<void> {
    this.#running = this.#running.then(async () => {
      for (const witness of this.#witnesses) if (!this.#ended.signal.aborted) await this.#told(witness)
    })
    return this.#running
  }

  async #told(witness: LogWitness): Promise<void> {
    const { name } = witness.cosigner
    try {
      const why = await this.#offer(witness)
      if (why !== undefined) this.#alert('a checkpoint got no cosignature', { witness: name, why })
    } catch (error) {
      if (!this.#ended.signal.aborted)
        this.#alert('a checkpoint got no cosignature', { witness: name, why: wordsOf(error) })
    }
  }

  /** Why there is no cosignature; undefined where there is one. */
  async #offer(witness: LogWitness): Promise<string | undefined> {
    const tree = await this.#checkpoints.signed()
    const { size } = tree.checkpoint
    const { name } = witness.cosigner
    const first = this.#sizes.get(name) ?? 0
    let answer = await this.#send(witness, tree, first > size ? 0 : first)
    if (answer.status === CONFLICT) {
      const seen = /^(0|[1-9][0-9]{0,15})\n$/.exec(answer.text)?.[1]
      if (seen === undefined) return 'it answered 409 without the size that it has cosigned'
      if (Number(seen) > size) return `it has cosigned a tree of ${seen} records, and there are ${size}`
      answer = await this.#send(witness, tree, Number(seen))
    }
    if (answer.status === CONFLICT) return `it has cosigned another tree of ${size} records`
    if (answer.status !== 200) return `it answered ${answer.status}`
    if (!(await this.#checkpoints.keepCosignature(answer.text, tree, witness.cosigner)))
      return 'its answer holds no cosignature of its key over this checkpoint'
    this.#sizes.set(name, size)
    return undefined
  }

  async #send({ url }: LogWitness, { checkpoint, note }: SignedTree, oldSize: number): Promise<Answer> {
    const proof = await this.#checkpoints.consistency(oldSize, checkpoint.size)
    const response = await fetch(`${url.replace(/\/$/, '')}/add-checkpoint`, {
      method: 'POST',
      headers: { 'Content-Type': 'text/plain; charset=utf-8' },
      body: checkpointOffer(oldSize, proof, note),
      redirect: 'error',
      signal: AbortSignal.any([this.#ended.signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
    })
    return { status: response.status, text: await textOf(response) }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#ended.abort()
    await this.#running
  }
}

/** Reads no further than an answer may be long. */
async function textOf(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body ?? []) {
    length += part.length
    if (length > ANSWER_BYTES_MAX) throw new RangeError('its answer is too long')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
