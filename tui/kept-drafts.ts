/** Drafts of this terminal on the disk: what the console or another terminal kept there since is not written over. */
import { isSameDraft, nothingWritten, type Written } from '../view/drafts.ts'
import type { Host } from './host.ts'

const isEmpty = ({ text, files }: Written): boolean => text.trim() === '' && files.length === 0

export class KeptDrafts {
  readonly #disk: Host['drafts']
  /** As this terminal read or wrote them last. */
  readonly #known = new Map<string, Written>()

  constructor(disk: Host['drafts']) {
    this.#disk = disk
  }

  /** What is kept; undefined where that is nothing. */
  load(name: string): Written | undefined {
    const draft = this.#disk.read(name)
    this.#known.set(name, draft ?? nothingWritten)
    return draft
  }

  /** What another screen kept since, where nothing was written here; undefined where nothing has changed. */
  newer(name: string, here: Written): Written | undefined {
    const known = this.#known.get(name)
    if (known === undefined || !isSameDraft(known, here)) return undefined
    const there = this.load(name) ?? nothingWritten
    return isSameDraft(there, here) ? undefined : there
  }

  /** Keeps what was written here; gives what another screen kept meanwhile, which stays. */
  keep(name: string, here: Written): Written | undefined {
    const known = this.#known.get(name) ?? nothingWritten
    if (isSameDraft(known, here)) return undefined
    const there = this.#disk.read(name) ?? nothingWritten
    if (!isSameDraft(there, known) && !isEmpty(there) && !isSameDraft(there, here)) {
      if (!isEmpty(here)) this.#known.set(name, there)
      return there
    }
    if (isEmpty(here)) this.#disk.remove(name)
    else this.#disk.write(name, here)
    this.#known.set(name, here)
    return undefined
  }

  /** It was sent, or cleared: what another screen kept since stays. */
  drop(name: string): void {
    const there = this.#disk.read(name)
    if (there === undefined || !isSameDraft(there, this.#known.get(name) ?? nothingWritten)) return
    this.#disk.remove(name)
    this.#known.set(name, nothingWritten)
  }

  has(name: string): boolean {
    return this.#disk.read(name) !== undefined
  }
}
