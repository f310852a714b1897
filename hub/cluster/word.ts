/**
 * Word between the processes of a hub, over the database: what is told within a few milliseconds goes as one. It is told
 * outside of any other transaction, because the server lets no two transactions that tell something commit at a time.
 * Word may be lost.
 */
import { sleep, type Timers } from '../../protocol/timers.ts'
import type { KeptLink } from './kept-link.ts'

const CHANNEL = 'svc_hub'
const TELL_EVERY_MS = 5
/** The server takes 8000. */
const BYTES_MAX = 7900

export class Word {
  readonly #link: KeptLink
  readonly #timers: Timers
  readonly #from: string
  readonly #heard = new Map<string, Set<(text: string) => void>>()
  readonly #waiting = new Set<string>()
  #telling: Promise<void> | undefined

  /** `from` tells this process from others, and has no line ends. */
  constructor(link: KeptLink, timers: Timers, from: string) {
    this.#link = link
    this.#timers = timers
    this.#from = from
    link.on({ up: one => one.hear(CHANNEL, payload => this.#take(payload)) })
  }

  /** Tells the other processes; neither kind nor text has a line end, and a kind no space. */
  tell(kind: string, text: string): void {
    this.#waiting.add(`${kind} ${text}`)
    this.#telling ??= this.#tellAll()
  }

  /** Resolves once nothing waits to be told. */
  async idle(): Promise<void> {
    await this.#telling
  }

  /** Hears what other processes tell; returns how to stop. */
  listen(kind: string, hear: (text: string) => void): () => void {
    const hearing = this.#heard.get(kind) ?? new Set()
    this.#heard.set(kind, hearing.add(hear))
    return () => void hearing.delete(hear)
  }

  async #tellAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      await sleep(this.#timers, TELL_EVERY_MS)
      const lines = [...this.#waiting]
      this.#waiting.clear()
      // who waits for word that is lost looks by itself
      for (const payload of payloadsOf(this.#from, lines))
        await this.#link.now?.run('SELECT pg_notify($1, $2)', CHANNEL, payload).catch(() => undefined)
    }
    this.#telling = undefined
  }

  #take(payload: string): void {
    const [from, ...lines] = payload.split('\n')
    if (from === this.#from) return
    for (const line of lines) {
      const [kind, text] = splitOnce(line)
      for (const hear of this.#heard.get(kind) ?? []) hear(text)
    }
  }
}

function splitOnce(line: string): [kind: string, text: string] {
  const at = line.indexOf(' ')
  return [line.slice(0, at), line.slice(at + 1)]
}

/** As many lines in each as it takes. */
function payloadsOf(from: string, lines: readonly string[]): string[] {
  const payloads: string[] = []
  let payload = from
  for (const line of lines) {
    if (Buffer.byteLength(payload) + Buffer.byteLength(line) + 1 > BYTES_MAX) {
      payloads.push(payload)
      payload = from
    }
    payload += `\n${line}`
  }
  return payload === from ? payloads : [...payloads, payload]
}
