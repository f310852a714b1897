/** Does what presses lead to: calls of the node, drafts, commands, the editor. What comes of it goes back into the model. */
import type { OperationInput, OperationName } from '../protocol/control/operations.ts'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { present } from '../protocol/encoding/present.ts'
import { cleanLine } from '../view/clean.ts'
import type { Live } from '../view/live.ts'
import { nextOnScreen } from '../view/next-step.ts'
import { NodeGone, NodeRefused } from '../view/node-client.ts'
import { evidenceRows, narrowing, type Screen } from '../view/rows.ts'
import { saySent } from '../view/sentences.ts'
import { DraftEffects } from './draft-effects.ts'
import { bufferOf } from './edit.ts'
import type { Host } from './host.ts'
import {
  type Composer,
  draftKey,
  type Effect,
  type Model,
  type Prompt,
  type Target,
  type Toast,
} from './model.ts'
import { lookingAt } from './moves.ts'
import { save } from './save-effects.ts'
import { toast, unsure, without } from './scene.ts'
import { setAtNode } from './set-effects.ts'
import { sayHosting, startNode } from './start-effects.ts'

/** The terminal itself, which Ink holds. */
export type Terminal = {
  suspend(): Promise<void>
  /** Gives the terminal up while `work` runs. */
  lend(work: () => Promise<void>): Promise<void>
  redraw(): void
  copy(text: string): void
  /** Whether clicks come here, or select text as the terminal has it. */
  mouse(on: boolean): void
  quit(): void
}

export type Around = {
  host: Host
  live: Live
  terminal: Terminal
  model: () => Model
  change: (change: (model: Model) => Model) => void
}

const OUTPUT_MAX = 500_000
const JOINED = 'you are at the hub, with these agents; d delegates a task, and 1 shows what others hand you'
/** A node that is to join a hub has to be there. */
const JOINS = /^\s*(svc\s+)?hub-register\s/
/** The node is asked for words once so long nothing was typed. */
const TYPED_MS = 200
/** Records that fit a filter, before older ones are asked for no more. */
const RECORDS_WANTED = 60

export class Effects {
  readonly #around: Around
  #command: AbortController | undefined
  #searching: NodeJS.Timeout | undefined
  readonly #tried = new Map<string, { content: string; key: string }>()
  readonly drafts: DraftEffects

  constructor(around: Around) {
    this.#around = around
    this.drafts = new DraftEffects(around)
  }

  /** Never fails: what went wrong is said on the screen. */
  async run(effect: Effect): Promise<void> {
    try {
      await this.#run(effect)
    } catch (error) {
      this.#say(failure(error))
    }
  }

  async #run(effect: Effect): Promise<void> {
    const { live, terminal, host } = this.#around
    switch (effect.type) {
      case 'act':
        return this.#act(effect)
      case 'filter_again':
        return
      case 'open_thread':
        return live.openThread(effect.id, effect.read)
      case 'close_thread':
        return live.closeThread()
      case 'more':
      case 'all':
        return this.#rows(effect.type)
      case 'narrow':
        return this.#narrow()
      case 'search':
        return this.#search(effect.words)
      case 'read_on':
        return this.#readOn(effect.id, effect.all)
      case 'screen':
        return this.#screen(effect.screen)
      case 'find':
        return live.find(effect.query)
      case 'send':
        return this.#send(effect.composer)
      case 'load_draft':
        return this.drafts.load(effect.target)
      case 'drop_draft':
        return this.drafts.drop(effect.target)
      case 'keep_draft':
        return this.drafts.keep(effect.composer)
      case 'editor':
        return this.#edit(effect.composer)
      case 'complete':
        return this.#complete(effect.prompt, effect.back)
      case 'command':
        return this.#runCommand(effect)
      case 'stop_command':
        return this.#command?.abort()
      case 'save':
        return save(this.#around, effect)
      case 'copy':
        return terminal.copy(effect.text)
      case 'mouse':
        return terminal.mouse(effect.on)
      case 'read':
        return this.#read(effect.title, host.asCalled(effect.text))
      case 'set':
      case 'try':
      case 'edit_form':
      case 'bulk':
        return setAtNode(this.#around, effect)
      case 'demo':
        return terminal.lend(() => host.demo())
      case 'account':
        return live.openAccount()
      case 'start_node':
        return startNode(this.#around)
      case 'host':
        return sayHosting(this.#around)
      case 'refresh':
        return live.refreshAll()
      case 'redraw':
      case 'suspend':
      case 'quit':
        return terminal[effect.type]()
    }
  }

  #say(given: Toast): void {
    this.#around.change(model => toast(model, given.says, given.tone))
  }

  async #act({ name, input, says, undo, isBack }: Extract<Effect, { type: 'act' }>): Promise<void> {
    const { live, change } = this.#around
    try {
      await live.act(name, input as OperationInput<OperationName>)
    } catch (error) {
      change(model => unsure(model, error))
      throw error
    }
    if (says === '') return
    const said = undo === undefined ? says : `${says}; u undoes it`
    change(model => ({
      ...toast(model, said, 'good'),
      undo: undo ?? (isBack === true ? undefined : { says }),
    }))
  }

  async #rows(how: 'more' | 'all'): Promise<void> {
    const { live, model } = this.#around
    const { screen } = model()
    if (screen === 'agents') return live.moreAgents()
    if (screen === 'evidence') return how === 'all' ? live.evidenceUntil(() => false) : live.moreEvidence()
    if (screen !== 'inbox' && screen !== 'sent') return
    const side = screen === 'inbox' ? 'received' : 'sent'
    return how === 'all' ? live.all(side) : live.more(side)
  }

  /** Lists as they are narrowed: the node is asked, since it has more than is loaded. */
  async #narrow(): Promise<void> {
    const { live, model } = this.#around
    const { panes, pendingOnly, archivedOnly: archived, screen } = model()
    live.narrow('received', narrowing({ pendingOnly, archived, filter: panes.inbox.filter }))
    live.narrow('sent', narrowing({ pendingOnly, archived, filter: panes.sent.filter }))
    const words = panes.evidence.filter
    if (screen !== 'evidence' || words === '') return
    const isOther = () => model().panes.evidence.filter !== words || model().screen !== 'evidence'
    await live.evidenceUntil(() => isOther() || evidenceRows(live.view, 0, words).length >= RECORDS_WANTED)
  }

  /** The node is asked once nothing more is typed. */
  #search(words: string): void {
    clearTimeout(this.#searching)
    this.#searching = setTimeout(() => void this.#around.live.search(words), TYPED_MS)
  }

  /** What of long texts is not here yet: a part of each, or all of them. */
  async #readOn(id: string, all: boolean): Promise<void> {
    const { live } = this.#around
    for (let before = ''; ; ) {
      const turns = live.view.threads.get(id)?.thread?.turns ?? []
      const waiting = turns.filter(turn => turn.next_char !== undefined)
      const place = waiting.map(turn => `${turn.n} ${turn.next_char}`).join()
      if (place === '' || place === before) return
      before = place
      for (const { n } of waiting) await live.moreText(id, n)
      if (!all) return
    }
  }

  async #screen(screen: Screen): Promise<void> {
    const { live } = this.#around
    if (screen === 'agents' && !live.view.agents.loaded) return live.find('')
    if (screen === 'evidence') return live.openEvidence()
    if (screen === 'node') {
      await live.openNode()
      return live.openAccount()
    }
  }

  async #send(composer: Composer): Promise<void> {
    const { live, host, change } = this.#around
    const { target, buffer } = composer
    const given = composer.files.map(file => host.file(file))
    const bad = given.find(file => 'fault' in file)
    const attach = given.flatMap(file => ('path' in file ? [file.path] : []))
    const once = { attach, idempotency_key: this.#keyOf(composer) }
    try {
      if (bad !== undefined && 'fault' in bad) throw new Error(bad.fault)
      const words = buffer.text
      const reply =
        target.kind === 'reply'
          ? await live.act('message', {
              interaction_id: target.id,
              ...present({ text: words.trim() === '' ? undefined : words }),
              ...once,
            })
          : await live.act('delegate', { to: target.to, task: words, ...once })
      change(model => sentNow(model, target, reply))
      this.#tried.delete(draftKey(target))
      // what was sent is sent, also where its draft cannot be removed
      void this.run({ type: 'drop_draft', target })
    } catch (error) {
      const { says } = failure(error)
      change(model => unsure(model, error))
      change(model =>
        model.composer === undefined || draftKey(model.composer.target) !== draftKey(target)
          ? toast(model, says, 'bad')
          : {
              ...model,
              composer: {
                ...model.composer,
                isSending: false,
                fault: says,
                isUnanswered: error instanceof NodeGone,
              },
            },
      )
    }
  }

  /** The same words and files are sent once, however often an answer got lost. */
  #keyOf({ target, buffer, files }: Composer): string {
    const content = JSON.stringify([buffer.text, files])
    const before = this.#tried.get(draftKey(target))
    const key = before?.content === content ? before.key : crypto.randomUUID()
    this.#tried.set(draftKey(target), { content, key })
    return key
  }

  async #edit({ buffer, target }: Composer): Promise<void> {
    const { host, terminal, change } = this.#around
    // what was loaded of a draft in the meantime is what is edited
    const now = this.#around.model().composer
    const before = now === undefined ? buffer.text : now.buffer.text
    let text = before
    await terminal.lend(async () => {
      text = await host.edit(before)
    })
    change(model => {
      const { composer } = model
      if (composer === undefined || draftKey(composer.target) !== draftKey(target)) return model
      return { ...model, composer: { ...composer, buffer: bufferOf(text) } }
    })
  }

  /** Who is at a hub now sees who else is there. */
  async #joined(): Promise<void> {
    const { live, change } = this.#around
    change(model => toast({ ...model, output: undefined, screen: 'agents' }, JOINED, 'good'))
    await live.find('')
  }

  #read(title: string, text: string): void {
    this.#around.change(model => ({ ...model, output: { title, text, top: 0, isRunning: false } }))
  }

  #complete(prompt: Prompt, back: boolean): void {
    const { host, change } = this.#around
    const { completions } = prompt
    const all = completions?.all ?? foundFor(host, prompt)
    if (all.length === 0) return
    const n = completions === undefined ? 0 : (completions.n + (back ? all.length - 1 : 1)) % all.length
    const buffer = bufferOf(all[n] as string)
    // the only one there is goes on, as the next folder of a path does
    const next =
      all.length === 1
        ? { kind: prompt.kind, buffer, ...present({ about: prompt.about }) }
        : { ...prompt, buffer, completions: { all, n } }
    change(model => (model.prompt === undefined ? model : { ...model, prompt: next }))
  }

  async #runCommand({ line, isAsked }: { line: string; isAsked?: true }): Promise<void> {
    const { host, change } = this.#around
    const final = isAsked ? undefined : host.finalOf(line)
    if (final !== undefined) {
      const yes = { type: 'command', line, isAsked: true } as const
      return change(model => ({
        ...model,
        confirm: { asks: `Run svc ${cleanLine(line)}?`, facts: [['then', final]], yes },
      }))
    }
    if (JOINS.test(line)) await startNode(this.#around)
    const ending = new AbortController()
    this.#command = ending
    const since = host.now()
    const title = `svc ${line}`
    change(model => ({ ...model, output: { title, text: '', top: 0, isRunning: true, since } }))
    const said = (text: string) =>
      change(model => {
        if (model.output === undefined) return model
        return {
          ...model,
          output: { ...model.output, text: (model.output.text + text).slice(0, OUTPUT_MAX) },
        }
      })
    if (isAsked) change(model => ({ ...model, undo: { says: title } }))
    const code = await host.command(line, said, ending.signal)
    this.#command = undefined
    if (code === 0 && host.isStep(line)) change(model => ({ ...model, undo: { says: title } }))
    change(model => {
      if (model.output === undefined) return model
      const title = code === 0 ? `svc ${line}` : `svc ${line}: exit ${code}`
      return { ...model, output: { ...model.output, title, isRunning: false } }
    })
    this.#around.live.refreshAll()
    if (code === 0 && JOINS.test(line)) await this.#joined()
  }
}

function foundFor(host: Host, { kind, buffer }: Prompt): readonly string[] {
  if (kind === 'command') return host.completions(buffer.text)
  return kind === 'attach' || kind === 'save' ? host.paths(buffer.text) : []
}

type Taken = { warning?: string | undefined; delivery?: { held?: true | undefined } | undefined }

function sentNow(model: Model, target: Target, reply: Taken): Model {
  const { composer } = model
  const isOurs = composer !== undefined && draftKey(composer.target) === draftKey(target)
  const closed = (isOurs ? without(model, 'composer') : model) as Model
  const atEnd =
    closed.thread === undefined ? closed : { ...closed, thread: lookingAt(closed.thread, { up: 0 }) }
  const { warning } = reply
  const said = target.kind === 'reply' ? saySent(reply) : 'delegated; 2 shows what becomes of it'
  const says = warning === undefined ? said : cleanLine(warning)
  return { ...toast(atEnd, says, warning === undefined ? 'good' : 'warn'), undo: { says } }
}

function failure(error: unknown): Toast {
  const next =
    error instanceof NodeRefused && error.next !== undefined
      ? `  → ${nextOnScreen(error.next, 'ctrl-t')}`
      : ''
  return { says: `${cleanLine(wordsOf(error), 600)}${next}`, tone: 'bad' }
}
