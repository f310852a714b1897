/** Drafts of the terminal: kept, opened again and dropped, beside what other screens write for the same task. */
import { BOTH_STAND, bothDrafts, type Written } from '../view/drafts.ts'
import { bufferOf } from './edit.ts'
import type { Around } from './effects.ts'
import { KeptDrafts } from './kept-drafts.ts'
import { type Composer, draftKey, type Target } from './model.ts'
import { toast } from './scene.ts'

type Needed = { [K in 'host' | 'model' | 'change']: Around[K] }

export class DraftEffects {
  readonly #around: Needed
  readonly #drafts: KeptDrafts

  constructor(around: Needed) {
    this.#around = around
    this.#drafts = new KeptDrafts(around.host.drafts)
  }

  load(target: Target): void {
    const draft = this.#drafts.load(draftKey(target))
    if (draft !== undefined) this.#write(target, draft)
  }

  /** What another screen kept for what is written here, before the first letter of this one. */
  lookAgain(): void {
    const { composer } = this.#around.model()
    if (composer === undefined || composer.isSending) return
    const { target, buffer, files } = composer
    const newer = this.#drafts.newer(draftKey(target), { text: buffer.text, files })
    if (newer !== undefined) this.#write(target, newer)
  }

  #write(target: Target, { text, files }: Written): void {
    this.#around.change(model => {
      const { composer } = model
      if (composer === undefined || draftKey(composer.target) !== draftKey(target)) return model
      return { ...model, composer: { ...composer, buffer: bufferOf(text), files } }
    })
  }

  keep({ target, buffer, files }: Composer): void {
    const here = { text: buffer.text, files }
    const there = this.#drafts.keep(draftKey(target), here)
    const now = this.#around.model().composer
    // what is sent goes as it stands, and what is empty takes nothing in
    const isOpen = now !== undefined && !now.isSending && draftKey(now.target) === draftKey(target)
    if (there !== undefined && here.text.trim() !== '' && (now === undefined || isOpen)) {
      const both = bothDrafts(there, here)
      this.#drafts.keep(draftKey(target), both)
      this.#write(target, both)
      this.#around.change(model => toast(model, BOTH_STAND, 'warn'))
    }
    this.#mark(target)
  }

  drop(target: Target): void {
    this.#drafts.drop(draftKey(target))
    this.#mark(target)
  }

  /** Rows say for what a draft is kept. */
  #mark(target: Target): void {
    const name = draftKey(target)
    const isKept = this.#drafts.has(name)
    this.#around.change(model => {
      if (model.drafts.has(name) === isKept) return model
      const drafts = new Set(model.drafts)
      if (isKept) drafts.add(name)
      else drafts.delete(name)
      return { ...model, drafts }
    })
  }
}
