/**
 * Drafts of the page, kept by the node beside those of the terminal: a moment after each change, and at once where the
 * page is left. The browser keeps nothing.
 */
import { isSameDraft, nothingWritten, type Written } from '../../view/drafts.ts'
import type { Live } from '../../view/live.ts'
import { NodeRefused } from '../../view/node-client.ts'
import { type Draft, filesIn } from './ui.ts'

const KEPT_AFTER_MS = 500
type Given = Pick<Draft, 'text' | 'files'>
type Outcomes = {
  /** What another screen kept stands in the way of what was written here. */
  meet(name: string, other: Written): void
  /** Files that were given to the node are not there any more. */
  miss(paths: readonly string[]): void
}

const writtenOf = (given: Given) => ({ text: given.text, files: filesIn(given) })
const givenOf = ({ text, files }: Written): Given => ({ text, files: files.join('\n') })

export class KeptDrafts {
  readonly #live: Pick<Live, 'ask'>
  readonly #outcomes: Outcomes
  readonly #waiting = new Map<string, { timer: ReturnType<typeof setTimeout>; draft: Given }>()
  /** As the node has it, as far as this page knows. */
  readonly #known = new Map<string, Written>()
  /** Given to a node whose answer was lost: it may have it. */
  readonly #given = new Map<string, Written>()
  #giving: Promise<void> = Promise.resolve()
  /** Asked for once; from then on the page knows better. */
  readonly #loaded = new Set<string>()

  constructor(live: Pick<Live, 'ask'>, outcomes: Outcomes) {
    this.#live = live
    this.#outcomes = outcomes
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
    const { kept } = await this.#live
      .ask('draftKeep', { for: name, text: '', files: [], was: this.#was(name) })
      .catch(() => ({ kept: true }))
    this.#known.delete(name)
    if (kept) this.#loaded.delete(name)
  }

  keepAll(): void {
    for (const name of this.#waiting.keys()) void this.#give(name)
  }

  /** What the node holds, the first time that it is asked for; nothing where that is nothing. */
  async load(name: string): Promise<Given | undefined> {
    if (this.#loaded.has(name)) return undefined
    this.#loaded.add(name)
    try {
      const { text, files, gone } = await this.#live.ask('draft', { for: name })
      this.#missed(gone)
      this.#known.set(name, { text, files })
      return text === '' && files.length === 0 ? undefined : givenOf({ text, files })
    } catch {
      this.#loaded.delete(name)
      return undefined
    }
  }

  /** What another screen kept or sent since, where nothing was written on this page; undefined where that is the same. */
  async newer(name: string, here: Given): Promise<Given | undefined> {
    const known = this.#known.get(name) ?? nothingWritten
    if (this.#waiting.has(name) || !isSameDraft(known, writtenOf(here))) return undefined
    const { gone, ...there } = await this.#live
      .ask('draft', { for: name })
      .catch(() => ({ ...known, gone: undefined }))
    this.#missed(gone)
    if (this.#waiting.has(name) || isSameDraft(there, known)) return undefined
    this.#loaded.add(name)
    this.#known.set(name, there)
    return givenOf(there)
  }

  /** A file of what was sent could not be read: the node says which of them it has no more. */
  async lookAfter(error: unknown, name: string, draft: Given): Promise<void> {
    if (!(error instanceof NodeRefused) || error.code !== 'file_unreadable') return
    this.keep(name, draft)
    await this.#give(name)
  }

  #missed(gone: readonly string[] | undefined): void {
    if (gone !== undefined) this.#outcomes.miss(gone)
  }

  #give(name: string): Promise<void> {
    this.#giving = this.#giving.then(() => this.#giveNow(name))
    return this.#giving
  }

  async #giveNow(name: string): Promise<void> {
    const waiting = this.#waiting.get(name)
    if (waiting === undefined) return
    clearTimeout(waiting.timer)
    const now = writtenOf(waiting.draft)
    try {
      const was = this.#was(name)
      const given = this.#given.get(name)
      this.#given.set(name, now)
      const { other, gone } = await this.#live.ask('draftKeep', { for: name, ...now, was })
      this.#given.delete(name)
      this.#missed(gone)
      this.#known.set(name, other ?? now)
      if (other !== undefined && given !== undefined && isSameDraft(other, given)) return this.#giveNow(name)
      if (this.#waiting.get(name) === waiting) this.#waiting.delete(name)
      if (other !== undefined) this.#outcomes.meet(name, other)
    } catch {
      // a node that is gone gets it with the next letter, or when it is found again
      if (this.#waiting.get(name) === waiting)
        waiting.timer = setTimeout(() => void this.#give(name), 10 * KEPT_AFTER_MS)
    }
  }

  #was(name: string): { text: string; files: string[] } {
    const { text, files } = this.#known.get(name) ?? nothingWritten
    return { text, files: [...files] }
  }
}
