/** The page as it runs: the live view of the node, what is open on the page, and everything that a person can do there. */

import type { OperationInput, OperationName } from '../../protocol/control/operations.ts'
import { cleanLine } from '../../view/clean.ts'
import { BOTH_STAND, bothDrafts, isSameDraft, type Written } from '../../view/drafts.ts'
import type { Live } from '../../view/live.ts'
import { nextOnScreen } from '../../view/next-step.ts'
import { NodeGone, NodeRefused } from '../../view/node-client.ts'
import type { Screen } from '../../view/rows.ts'
import { saySent, type Tone } from '../../view/sentences.ts'
import type { Order as Given } from '../../view/settings/field.ts'
import type { View } from '../../view/state.ts'
import type { Save } from './download.ts'
import { KeptDrafts } from './drafts.ts'
import { followNarrowing } from './finding.ts'
import { LastStep } from './last-step.ts'
import { inputOf, keyAfter, newKey } from './orders.ts'
import {
  addressOf,
  type Dialog,
  type Draft,
  emptyDraft,
  emptyOrder,
  filesIn,
  type Order,
  ROWS_SHOWN,
  type Route,
  routeOf,
  type Ui,
  withPath,
} from './ui.ts'
import { giveAll, stillComing, type Upload, type Uploading } from './upload.ts'

const SAID_FOR_MS = 8_000

type Parts = { live: Live; build: string; upload: Upload; save: Save }

export class App {
  readonly live: Live
  readonly build: string
  readonly ui: Ui
  readonly #draw: () => void
  /** What `u` is about. */
  readonly last = new LastStep()
  /** Until the task that is being opened is here, or was refused. */
  opening: Promise<void> = Promise.resolve()
  #unsay: ReturnType<typeof setTimeout> | undefined
  #seen = ''

  readonly upload: Upload
  readonly save: Save
  readonly #kept: KeptDrafts

  /** `build`: that of the page, which a node that was changed over leaves behind. */
  constructor({ live, build, upload, save }: Parts, draw: () => void) {
    this.live = live
    this.build = build
    this.upload = upload
    this.save = save
    this.#kept = new KeptDrafts(live, {
      meet: (name, other) => this.#join(name, other),
      miss: gone => this.set({ gone: new Set([...this.ui.gone, ...gone]) }),
    })
    this.#draw = draw
    this.ui = {
      ...routeOf(location.hash),
      cursor: {},
      filter: {},
      needsOnly: false,
      archivedOnly: false,
      selected: new Set(),
      joining: undefined,
      notices: { on: false, words: false },
      from: 0,
      shown: ROWS_SHOWN,
      find: undefined,
      parts: new Map(),
      dialog: undefined,
      drafts: new Map(),
      orders: new Map(),
      uploads: new Map(),
      given: new Map(),
      gone: new Set(),
      said: undefined,
    }
  }

  get view(): View {
    return this.live.view
  }

  /** Changes what the page shows, and draws it. */
  set(change: Partial<Ui>): void {
    Object.assign(this.ui, change)
    this.#draw()
  }

  /** Says what happened, to everybody who reads the page. */
  say(text: string, tone: Tone = 'good'): void {
    clearTimeout(this.#unsay)
    this.#unsay = setTimeout(() => this.set({ said: undefined }), SAID_FOR_MS)
    this.set({ said: { text, tone } })
  }

  /** Whether keys of one letter act, as the node remembers it. */
  get keysOn(): boolean {
    return this.ui.keysOn ?? this.view.status?.console_keys !== false
  }

  async setKeys(on: boolean): Promise<void> {
    this.set({ keysOn: on })
    try {
      await this.live.act('consoleSet', { keys: on })
    } catch (error) {
      this.say(faultOf(error), 'bad')
    }
  }

  /** Takes files that were dropped on the page, to what is open. */
  async attach(files: readonly File[]): Promise<void> {
    const { screen, open } = this.ui
    if (open !== undefined && (screen === 'inbox' || screen === 'sent'))
      await giveAll(this, open, files, path =>
        this.setDraft(open, { files: withPath(this.draftOf(open), path) }),
      )
    else if (open !== undefined && screen === 'agents')
      await giveAll(this, open, files, path =>
        this.setOrder(open, { files: withPath(this.orderOf(open), path) }),
      )
    else this.say('a file is dropped on a task or on an agent; open one first', 'warn')
  }

  /** A place with what its list is narrowed to. */
  routeTo(route: Route): Route {
    const isTasks = route.screen === 'inbox' || route.screen === 'sent'
    const { filter, needsOnly, archivedOnly } = this.ui
    const flags = { waits: isTasks && needsOnly, archived: isTasks && archivedOnly }
    return { q: filter[route.screen], ...flags, ...route }
  }

  /** Goes to a place, so that the browser's way back leads here again. */
  go(route: Route): void {
    const address = addressOf(this.routeTo(route))
    if (address !== location.hash) history.pushState(null, '', address)
    this.arrive()
  }

  open(open: string | undefined, screen: Screen = this.ui.screen): void {
    this.go({ screen, open })
  }

  /** Shows what the address names, and asks the node for it. */
  arrive(): void {
    const { screen, open, q, waits, archived, turn } = routeOf(location.hash)
    const { ui } = this
    const isOther = screen !== ui.screen
    const cursor = open === undefined ? ui.cursor : { ...ui.cursor, [screen]: open }
    const filter = { ...ui.filter, [screen]: q ?? '' }
    const isTasks = screen === 'inbox' || screen === 'sent'
    const rows = isOther || q !== ui.filter[screen] ? { from: 0, shown: ROWS_SHOWN } : {}
    const unread = this.view.interactions.get(open ?? '')?.unread ?? 0
    const place =
      open === ui.open && turn === undefined ? {} : { find: undefined, begin: { open, turn, unread } }
    this.set({
      screen,
      open,
      cursor,
      filter,
      ...(isTasks && { needsOnly: waits === true, archivedOnly: archived === true }),
      ...(isOther && { selected: new Set<string>() }),
      ...rows,
      ...place,
    })
    followNarrowing(this)
    this.#load(screen, open)
  }

  #load(screen: Screen, open: string | undefined): void {
    const { live } = this
    if (screen === 'inbox' || screen === 'sent') {
      if (open === undefined) live.closeThread()
      else this.opening = live.openThread(open, document.visibilityState === 'visible')
    } else live.closeThread()
    if (open !== undefined && screen !== 'evidence' && screen !== 'node') void this.#loadDraft(screen, open)
    if (screen === 'agents') this.#find(this.ui.filter.agents)
    if (screen === 'evidence') void live.openEvidence()
    if (screen === 'node') {
      void live.openNode()
      void live.openAccount()
      void live.openEvidence()
    }
  }

  #find(words: string | undefined): void {
    const { loaded, query } = this.view.agents
    if (!loaded || (words !== undefined && words !== '' && words !== query))
      void this.live.find(words || query)
  }

  /** What was written before on this page or on a terminal, unless somebody writes here already. */
  async #loadDraft(screen: Screen, id: string): Promise<void> {
    const draft = await this.#kept.load(id)
    if (draft === undefined) return
    if (screen === 'agents') {
      if (this.orderOf(id) === emptyOrder) this.ui.orders.set(id, { ...emptyOrder, ...draft })
    } else if (this.draftOf(id) === emptyDraft) this.ui.drafts.set(id, { ...emptyDraft, ...draft })
    this.#draw()
  }

  /** The page is looked at again: what another one or the terminal kept or sent meanwhile shows, where nobody writes here. */
  async lookAgain(): Promise<void> {
    const { screen, open: id } = this.ui
    if (id === undefined || screen === 'evidence' || screen === 'node') return
    const before = this.filesOf(id)
    const newer = before.busy ? undefined : await this.#kept.newer(id, before)
    if (newer === undefined || this.filesOf(id) !== before) return
    if (screen === 'agents') this.ui.orders.set(id, { ...this.orderOf(id), ...newer, key: undefined })
    else this.ui.drafts.set(id, { ...emptyDraft, ...newer })
    this.#draw()
  }

  /** Words that another screen kept stand with those of this page from now on. */
  #join(name: string, other: Written): void {
    const { text, busy, ...rest } = this.filesOf(name)
    const here = { text, files: filesIn(rest) }
    // what is sent goes as it stands
    if (busy) return
    const both = bothDrafts(other, here)
    const change = { text: both.text, files: both.files.join('\n') }
    if (this.ui.orders.has(name)) this.setOrder(name, change)
    else this.setDraft(name, change)
    if (!isSameDraft(both, here)) this.say(BOTH_STAND, 'warn')
  }

  /** Marks what came into the open thread as read, once for each time that something did. */
  seeOpenThread(): void {
    const { screen, open } = this.ui
    if (open === undefined || (screen !== 'inbox' && screen !== 'sent')) return
    const item = this.view.interactions.get(open)
    const mark = `${open} ${item?.last_at} ${item?.unread}`
    if (!item?.unread || document.visibilityState !== 'visible' || mark === this.#seen) return
    this.#seen = mark
    void this.live.openThread(open, true)
  }

  draftOf(id: string): Draft {
    return this.ui.drafts.get(id) ?? emptyDraft
  }

  setDraft(id: string, change: Partial<Draft>): void {
    this.ui.drafts.set(id, { ...this.draftOf(id), ...keyAfter(change), ...change })
    if ('text' in change || 'files' in change) this.#kept.keep(id, this.draftOf(id))
    this.#draw()
  }

  orderOf(aid: string): Order {
    return this.ui.orders.get(aid) ?? emptyOrder
  }

  setOrder(aid: string, change: Partial<Order>): void {
    this.ui.orders.set(aid, { ...this.orderOf(aid), ...keyAfter(change), ...change })
    if ('text' in change || 'files' in change) this.#kept.keep(aid, this.orderOf(aid))
    this.#draw()
  }

  /** The draft of a task or of a new one, by the id that it is kept under. */
  filesOf(of: string): Draft {
    return this.ui.drafts.get(of) ?? this.ui.orders.get(of) ?? emptyDraft
  }

  setUploads(of: string, uploads: readonly Uploading[]): void {
    this.ui.uploads.set(of, uploads)
    this.#draw()
  }

  /** What was written is not with the node yet, or a file is on its way there. */
  get isBehind(): boolean {
    return this.#kept.isBehind || [...this.ui.uploads.keys()].some(of => stillComing(this, of) !== undefined)
  }

  keepDrafts(): void {
    this.#kept.keepAll()
  }

  ask(dialog: Dialog): void {
    if (dialog.kind === 'approve') void this.live.openAccount()
    if (dialog.kind === 'palette' && this.view.contacts === undefined) void this.live.openNode()
    this.set({ dialog })
  }

  close(): void {
    this.set({ dialog: undefined })
  }

  /** The yes of a dialog: it stays with the reason where the node refuses. */
  async confirm(work: () => Promise<unknown>, says: string): Promise<void> {
    const { dialog } = this.ui
    if (dialog === undefined || dialog.busy === true) return
    this.set({ dialog: { ...dialog, busy: true, fault: undefined } })
    try {
      await work()
      this.set({ dialog: undefined })
      this.say(this.last.did(says))
    } catch (error) {
      this.set({ dialog: { ...dialog, ...this.#refused(error) } })
    }
  }

  /** Something without a question; what the node refuses is said. */
  async act<N extends OperationName>(
    name: N,
    input: OperationInput<N>,
    says: string,
    undo?: () => void,
  ): Promise<void> {
    try {
      await this.live.act(name, input)
      this.say(this.last.did(says, undo))
    } catch (error) {
      this.say(this.last.failed(error, faultOf(error)), 'bad')
    }
  }

  /** An order of the tables, whose input was checked against its operation there. */
  give({ name, input }: Given): Promise<object> {
    return this.live.act(name, input as never) as Promise<object>
  }

  /** Whether files of a draft still come; it would go without them. */
  #awaitsFiles(of: string): boolean {
    const names = stillComing(this, of)
    if (names !== undefined) this.say(`not sent yet: ${names} still comes to your node; send it then`, 'warn')
    return names !== undefined
  }

  #refused(error: unknown) {
    const fault = this.last.failed(error, faultOf(error))
    return { busy: false, fault, isGone: error instanceof NodeGone }
  }

  async send(id: string): Promise<void> {
    const draft = this.draftOf(id)
    const attach = filesIn(draft)
    if (draft.busy || (draft.text.trim() === '' && attach.length === 0) || this.#awaitsFiles(id)) return
    const key = draft.key ?? newKey()
    this.setDraft(id, { busy: true, fault: undefined, key })
    try {
      const input = { interaction_id: id, text: draft.text, attach, idempotency_key: key }
      const reply = await this.live.act('message', input)
      const { warning } = reply
      this.ui.drafts.delete(id)
      void this.#kept.drop(id)
      this.say(
        this.last.did(warning === undefined ? saySent(reply) : `kept to be sent: ${cleanLine(warning)}`),
        warning ? 'warn' : 'good',
      )
    } catch (error) {
      this.setDraft(id, this.#refused(error))
      void this.#kept.lookAfter(error, id, draft)
    }
  }

  async delegate(aid: string): Promise<void> {
    const order = this.orderOf(aid)
    if (order.busy || (order.capability === '' && this.#awaitsFiles(aid))) return
    const key = order.key ?? newKey()
    this.setOrder(aid, { busy: true, fault: undefined, key })
    try {
      const input = { ...inputOf(aid, order), idempotency_key: key }
      const { interaction_id: id, warning } = await this.live.act('delegate', input)
      this.ui.orders.delete(aid)
      void this.#kept.drop(aid)
      this.open(id, 'sent')
      this.say(
        this.last.did(warning === undefined ? 'the task is on its way' : cleanLine(warning)),
        warning === undefined ? 'good' : 'warn',
      )
    } catch (error) {
      this.setOrder(aid, this.#refused(error))
      void this.#kept.lookAfter(error, aid, order)
    }
  }

  async copy(text: string, what: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text)
      this.say(`${what} copied`)
    } catch {
      this.say(`this browser does not let the page copy; ${what} can be selected`, 'warn')
    }
  }
}

/** What went wrong, and the next step where the node names one. */
export function faultOf(error: unknown): string {
  const says = error instanceof Error ? cleanLine(error.message) : 'something went wrong'
  const next = error instanceof NodeRefused ? error.next?.split('\n')[0] : undefined
  return next === undefined ? says : `${says} (${nextOnScreen(next, 'Attach files')})`
}
