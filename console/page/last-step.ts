/** What was done last on the page: `u` takes it back, once, or says that it can't; never what was done before it. */
import { NodeGone } from '../../view/node-client.ts'
import { NOTHING_TO_UNDO, sayNoUndo } from '../../view/undo.ts'

export class LastStep {
  #says: string | undefined
  #undo: (() => void) | undefined
  #at = 0
  /** What is done next takes a step back. */
  #isBack = false

  /** How many steps there were. */
  get at(): number {
    return this.#at
  }

  /** Something was done; gives what is said of it. */
  did(says: string, undo?: () => void): string {
    this.#says = this.#isBack && undo === undefined ? undefined : says
    this.#undo = undo
    this.#at += 1
    this.#isBack = false
    return undo === undefined ? says : `${says}; u undoes it`
  }

  /** Something failed; where the node did not answer, it may have been done. */
  failed(error: unknown, says: string): string {
    return error instanceof NodeGone ? this.did(says) : says
  }

  /** Takes it back; gives a sentence where there is nothing to take back. */
  takeBack(): string | undefined {
    const undo = this.#undo
    if (undo === undefined) return this.#says === undefined ? NOTHING_TO_UNDO : sayNoUndo(this.#says)
    this.#undo = undefined
    this.#says = undefined
    this.#at += 1
    this.#isBack = true
    undo()
    return undefined
  }
}
