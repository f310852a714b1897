/** The identity with which a session of tools began: whatever is chosen, stopped or started later, no other one answers. */
import type { Selection } from '../../daemon/home/home.ts'
import { type Control, connect, ownSelection, type Target } from '../client/control.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io } from '../io.ts'

export class Session {
  readonly selection: Selection
  #aid: string | undefined
  #known: Target | undefined

  constructor(io: Io, input: Pick<Input, 'id'>) {
    this.selection = ownSelection(io, input.id)
  }

  /** The node that answered last, which a call need not look for again while its socket is the same. */
  get known(): Target | undefined {
    return this.#known
  }

  /** Whether an identity has answered in this session. */
  get hasBegun(): boolean {
    return this.#aid !== undefined
  }

  /** The node of this session; throws where another identity answers in its directory. */
  async connect(io: Io): Promise<Control> {
    const control = connect(io, this)
    if (control.target === this.#known) return control
    this.require(control.target.entry?.aid ?? (await control.call('status')).aid)
    this.#known = control.target
    return control
  }

  /** The first AID is that of the session; throws for another one. */
  require(aid: string): void {
    this.#aid ??= aid
    if (aid !== this.#aid)
      throw new CommandFailed(
        `this session began as ${this.#aid}, and now another identity answers in ${this.selection.dir} (${aid}); nothing is done in its name`,
        'start the session again, which then works as that identity',
      )
  }
}
