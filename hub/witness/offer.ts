/**
 * Offers the checkpoint of the supply chain to witnesses of transparency logs (C2SP tlog-witness), at the start, after each
 * change, once a minute at most, and every hour, and keeps their cosignatures. One that has seen a larger tree, or another of this size, is told to the operator.
 */
import { connectionFault } from '../../protocol/encoding/errors.ts'
import { checkpointOffer } from '../../protocol/proof/cosignature.ts'
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Alert, HubContext } from '../core/context.ts'
import { HOUR_MS } from '../core/limits.ts'
import type { Checkpoints, LogWitness, SignedTree } from '../core/supply/checkpoints.ts'

const MINUTE_MS = 60_000
const ANSWER_TIMEOUT_MS = 30_000
const ANSWER_BYTES_MAX = 16 * 1024
const CONFLICT = 409

type WitnessReply = { status: number; text: string }

export class CheckpointOffers {
  readonly #checkpoints: Checkpoints
  readonly #witnesses: readonly LogWitness[]
  readonly #alert: Alert
  readonly #timers: Timers
  readonly #timer: Timer | undefined
  readonly #ended = new AbortController()
  /** What each was offered last and when, and why it gave nothing. */
  readonly #tried = new Map<string, { size: number; atMs: number; why: string | undefined }>()
  #running: Promise<void> = Promise.resolve()

  constructor(
    checkpoints: Checkpoints,
    witnesses: readonly LogWitness[],
    { timers, alert }: Pick<HubContext, 'timers' | 'alert'>,
  ) {
    this.#checkpoints = checkpoints
    this.#timers = timers
    this.#witnesses = witnesses
    this.#alert = alert
    if (witnesses.length === 0) return
    this.#timer = timers.every(MINUTE_MS, () => void this.tick())
    this.#timer.unref()
    void this.turn()
  }

  /** Offers the newest checkpoint to all; turns follow each other. */
  turn(): Promise<void> {
    return this.#offerTo(() => true)
  }

  /** Offers it to those to whom it is news, or to whom nothing was offered for an hour. */
  tick(): Promise<void> {
    return this.#offerTo(({ cosigner: { name } }) => {
      const last = this.#tried.get(name)
      return last?.size !== this.#checkpoints.size || this.#timers.monotonic() - last.atMs >= HOUR_MS
    })
  }

  #offerTo(isDue: (witness: LogWitness) => boolean): Promise<void> {
    this.#running = this.#running.then(async () => {
      for (const witness of this.#witnesses)
        if (!this.#ended.signal.aborted && isDue(witness)) await this.#told(witness)
    })
    return this.#running
  }

  async #told(witness: LogWitness): Promise<void> {
    const { name } = witness.cosigner
    const { size } = this.#checkpoints
    const why = await this.#offer(witness).catch(connectionFault)
    if (this.#ended.signal.aborted) return
    const before = this.#tried.get(name)
    const nowMs = this.#timers.monotonic()
    const isNews = why !== undefined && (before?.why !== why || nowMs - before.atMs >= HOUR_MS)
    // one that stays away is told once an hour, however often it is asked
    const atMs = why === undefined || isNews || before === undefined ? nowMs : before.atMs
    this.#tried.set(name, { size, atMs, why })
    if (isNews) this.#alert('a checkpoint got no cosignature', { witness: name, why })
  }

  /** Why there is no cosignature; undefined where there is one. */
  async #offer(witness: LogWitness): Promise<string | undefined> {
    const tree = await this.#checkpoints.signed()
    const { size } = tree.checkpoint
    const { name } = witness.cosigner
    const first = await this.#checkpoints.heldSize(name)
    let answer = await this.#send(witness, tree, first > size ? 0 : first)
    if (answer.status === CONFLICT) {
      const seen = /^(0|[1-9][0-9]{0,15})\n$/.exec(answer.text)?.[1]
      if (seen === undefined) return 'it answered 409 without the size that it has cosigned'
      if (Number(seen) > size) return `it has cosigned a tree of ${seen} records, and there are ${size}`
      await this.#checkpoints.keepHeldSize(name, Number(seen))
      answer = await this.#send(witness, tree, Number(seen))
    }
    if (answer.status === CONFLICT) return `it has cosigned another tree of ${size} records`
    if (answer.status !== 200) return `it answered ${answer.status}`
    if (!(await this.#checkpoints.keepCosignature(answer.text, tree, witness.cosigner)))
      return 'its answer holds no cosignature of its key over this checkpoint'
    await this.#checkpoints.keepHeldSize(name, size)
    return undefined
  }

  async #send({ url }: LogWitness, { checkpoint, note }: SignedTree, oldSize: number): Promise<WitnessReply> {
    const proof = await this.#checkpoints.consistency(oldSize, checkpoint.size)
    const response = await fetch(`${url.replace(/\/$/, '')}/add-checkpoint`, {
      method: 'POST',
      headers: { 'Content-Type': 'text/plain; charset=utf-8' },
      body: checkpointOffer(oldSize, proof, note),
      redirect: 'error',
      signal: AbortSignal.any([this.#ended.signal, this.#timers.deadline(ANSWER_TIMEOUT_MS)]),
    })
    return { status: response.status, text: await textOf(response) }
  }

  async stop(): Promise<void> {
    this.#timers.clear(this.#timer)
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
