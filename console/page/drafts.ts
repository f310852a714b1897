/**
 * Drafts of the page, kept by the node beside those of the terminal: a moment after each change, and at once where the
 * page is left. The browser keeps nothing.
 */
import type { Live } from '../../view/live.ts'
import { type Draft, filesIn } from './ui.ts'

const KEPT_AFTER_MS = 500
type Given = Pick<Draft, 'text' | 'files'>

export class KeptDrafts {
  readonly #live: Pick<Live, 'ask'>
  readonly #waiting = new Map<string, { timer: ReturnType<typeof setTimeout>; draft: Given }>()
  /** As the node has it, as far as this page knows. */
  readonly #known = new Map<string, { text: string; files: string[] }>()
  #giving: Promise<void> = Promise.resolve()
  /** Asked for once; from then on the page knows better. */
  readonly #loaded = new Set<string>()

  constructor(live: Pick<Live, 'ask'>) {
    this.#live = live
  }

  /** Something that was written is not with the node yet. */
  get isBehind(): boolean {
    return this.#waiting.size > 0
  }

  keep(name: string, draft: Given): void {
    this.#loaded.add(name)
    clearTimeout(this.#waiting.get(name)?.timer)
    const timer = setTimeout(() => void this.#give(name), KEPT_AFTER_MS)
    this.#waiting.set(name, { timer, draft: { text: draft.text, files: draft.files } })
  }

  /** It was sent; what was written since, on another page or in the terminal, stays. */
  async drop(name: string): Promise<void> {
    clearTimeout(this.#waiting.get(name)?.timer)
    this.#waiting.delete(name)
    await this.#giving
    const was = this.#known.get(name) ?? { text: '', files: [] }
    const { kept } = await this.#live
      .ask('draftKeep', { for: name, text: '', files: [], was })
      .catch(() => ({ kept: true }))
    if (kept) this.#loaded.delete(name)
    else this.#known.delete(name)
  }

  keepAll(): void {
    for (const name of this.#waiting.keys()) void this.#give(name)
  }

  /** What the node holds, the first time that it is asked for; nothing where that is nothing. */
  async load(name: string): Promise<Given | undefined> {
    if (this.#loaded.has(name)) return undefined
    this.#loaded.add(name)
    try {
      const { text, files } = await this.#live.ask('draft', { for: name })
      this.#known.set(name, { text, files })
      return text === '' && files.length === 0 ? undefined : { text, files: files.join('\n') }
    } catch {
      this.#loaded.delete(name)
      return undefined
    }
  }

  #give(name: string): Promise<void> {
    this.#giving = this.#giving.then(() => this.#giveNow(name))
    return this.#giving
  }

  async #giveNow(name: string): Promise<void> {
    const waiting = this.#waiting.get(name)
    if (waiting === undefined) return
    clearTimeout(waiting.timer)
    const { draft } = waiting
    try {
      const now = { text: draft.text, files: filesIn(draft) }
      await this.#live.ask('draftKeep', { for: name, ...now })
      this.#known.set(name, now)
      if (this.#waiting.get(name) === waiting) this.#waiting.delete(name)
    } catch {
      // a node that is gone gets it with the next letter, or when it is found again
      if (this.#waiting.get(name) === waiting)
        waiting.timer = setTimeout(() => void this.#give(name), 10 * KEPT_AFTER_MS)
    }
  }
}
