/**
 * Every key of every screen, once, for the terminal and the page: what it does and how that is called. Help, the hint bar
 * and the dispatchers read this table, and so do the tests, so that none of them can say something else. The page takes
 * those of its actions that it has; the browser keeps the rest.
 */

/** Where the keys go. The first four are screens of rows. */
export type Focus =
  | 'inbox'
  | 'sent'
  | 'agents'
  | 'evidence'
  | 'node'
  | 'thread'
  | 'compose'
  | 'prompt'
  | 'confirm'
  /** Why the key that begins a text did nothing. */
  | 'refused'
  | 'help'
  | 'output'
  /** A setting, asked field by field. */
  | 'form'
  /** A node without a hub: the ways on. */
  | 'welcome'

export type Action =
  | 'next'
  | 'previous'
  | 'first'
  | 'last'
  | 'half_down'
  | 'half_up'
  | 'page_down'
  | 'page_up'
  | 'open'
  | 'back'
  | 'quit'
  | 'screen'
  | 'next_screen'
  | 'previous_screen'
  | 'filter'
  /** In the conversation that is open; then from one place to the next. */
  | 'search'
  | 'next_hit'
  | 'previous_hit'
  | 'search_all'
  | 'more_text'
  | 'clear_filter'
  | 'command'
  | 'help'
  | 'refresh'
  | 'redraw'
  | 'mouse'
  | 'previous_field'
  | 'try'
  | 'suspend'
  | 'reply'
  | 'editor'
  | 'attach'
  | 'end'
  | 'accept_end'
  | 'approve'
  | 'decline'
  | 'reason'
  | 'cancel'
  | 'anew'
  | 'hold'
  | 'select'
  | 'archive'
  | 'archived_only'
  | 'save'
  | 'verify'
  | 'rate'
  | 'copy'
  | 'pending_only'
  | 'delegate'
  | 'find'
  | 'contact'
  | 'toggle_accept'
  | 'auto_reply_off'
  | 'test_auto_reply'
  | 'start_node'
  | 'undo'
  | 'warnings'
  | 'send'
  | 'newline'
  | 'detach'
  | 'complete'
  | 'yes'
  | 'no'
  | 'join'
  | 'host'
  | 'demo'

export type KeyRow = {
  readonly keys: readonly string[]
  readonly action: Action
  /** What it does, in help. */
  readonly says: string
  /** The same on the page, where that is less. */
  readonly pageSays?: string
  readonly places: readonly Focus[]
  /** Its word in the hint bar, where it has one; the first rows come first. */
  readonly hint?: string
}

const rows: readonly Focus[] = ['inbox', 'sent', 'agents', 'evidence']
const lists: readonly Focus[] = [...rows, 'node']
const tasks: readonly Focus[] = ['inbox', 'sent', 'thread']
const browsing: readonly Focus[] = [...lists, 'thread']

export const keyRows: readonly KeyRow[] = [
  { keys: ['enter', 'l', 'right'], action: 'open', says: 'open', places: rows, hint: 'open' },
  {
    keys: ['enter', 'l', 'right'],
    action: 'open',
    says: 'change the selected setting',
    places: ['node'],
    hint: 'change',
  },
  {
    keys: ['U'],
    action: 'start_node',
    says: 'start the node',
    places: browsing,
    hint: 'start the node',
  },
  {
    keys: ['esc'],
    action: 'clear_filter',
    says: 'clear the marks, then the filter',
    places: ['inbox', 'sent', 'evidence'],
    hint: 'clear filter',
  },
  { keys: ['esc', 'h', 'left'], action: 'back', says: 'back', places: ['thread'], hint: 'back' },
  { keys: ['r'], action: 'reply', says: 'reply', places: tasks, hint: 'reply' },
  {
    keys: ['a'],
    action: 'approve',
    says: 'approve what waits for you, a stranger or a payment, or all that is marked; then y',
    places: tasks,
    hint: 'approve',
  },
  {
    keys: ['N'],
    action: 'decline',
    says: 'decline it, or all that is marked; r writes why, then y',
    places: tasks,
  },
  {
    keys: ['d'],
    action: 'delegate',
    says: 'delegate a task to this agent',
    places: ['agents', 'sent', 'inbox', 'thread'],
    hint: 'delegate',
  },
  {
    keys: ['s', '/'],
    action: 'find',
    says: 'search agents by words or cap:<name>',
    places: ['agents'],
    hint: 'search',
  },
  { keys: ['c'], action: 'contact', says: 'add it to the contacts', places: ['agents'], hint: 'add contact' },
  { keys: ['e'], action: 'end', says: 'propose to end, or agree to it', places: tasks, hint: 'end' },
  { keys: ['A'], action: 'accept_end', says: 'agree to end', places: tasks },
  { keys: ['X'], action: 'cancel', says: 'withdraw a task of yours', places: tasks },
  { keys: ['D'], action: 'anew', says: 'delegate anew what its recipient lost', places: tasks },
  {
    keys: ['H'],
    action: 'hold',
    says: 'hold back what goes out, or send it on',
    places: tasks,
    hint: 'hold',
  },
  {
    keys: ['x'],
    action: 'select',
    says: 'mark it, for a, N or z on several at once',
    pageSays: 'select it, to do one thing with several',
    places: ['inbox', 'sent'],
    hint: 'mark',
  },
  { keys: ['z'], action: 'archive', says: 'archive it, or put it back', places: tasks },
  { keys: ['Z'], action: 'archived_only', says: 'only what was archived', places: ['inbox', 'sent'] },
  { keys: ['f'], action: 'attach', says: 'reply with files', places: tasks },
  { keys: ['S'], action: 'save', says: 'save the files of the task', places: tasks },
  { keys: ['v'], action: 'verify', says: 'verify the receipt', places: tasks, hint: 'verify' },
  { keys: ['*'], action: 'rate', says: 'rate it, 1 to 5', places: tasks },
  {
    keys: ['p'],
    action: 'pending_only',
    says: 'only what waits for you',
    places: ['inbox', 'sent'],
    hint: 'waiting',
  },
  { keys: ['ctrl-e'], action: 'editor', says: 'write in $EDITOR', places: [...tasks, 'compose'] },
  { keys: ['Y'], action: 'copy', says: 'copy the id', places: browsing },
  {
    keys: ['t'],
    action: 'test_auto_reply',
    says: 'ask the auto-reply a question',
    places: ['node'],
    hint: 'test auto-reply',
  },
  {
    keys: ['o'],
    action: 'auto_reply_off',
    says: 'turn the auto-reply off',
    places: ['node'],
    hint: 'auto-reply off',
  },
  {
    keys: ['T'],
    action: 'toggle_accept',
    says: 'take tasks of others, or none',
    places: ['node'],
    hint: 'accept on/off',
  },
  { keys: ['u'], action: 'undo', says: 'undo what can be undone', places: browsing },
  {
    keys: ['/'],
    action: 'filter',
    says: 'filter the rows, also those that are not loaded',
    places: ['inbox', 'sent', 'evidence'],
    hint: 'filter',
  },
  { keys: ['/'], action: 'search', says: 'search in the conversation', places: ['thread'], hint: 'search' },
  { keys: ['n'], action: 'next_hit', says: 'the next place that was found', places: ['thread'] },
  { keys: ['p'], action: 'previous_hit', says: 'the place before it', places: ['thread'] },
  { keys: ['m'], action: 'more_text', says: 'more of a long text', places: ['thread'] },
  { keys: ['ctrl-k'], action: 'search_all', says: 'search all conversations', places: browsing },
  { keys: ['j', 'down'], action: 'next', says: 'down, 5j five', pageSays: 'down', places: browsing },
  { keys: ['k', 'up'], action: 'previous', says: 'up', places: browsing },
  { keys: ['g', 'home'], action: 'first', says: 'to the top', places: browsing },
  {
    keys: ['G', 'end'],
    action: 'last',
    says: 'to the end; 12G to row 12',
    pageSays: 'to the end',
    places: browsing,
  },
  { keys: ['ctrl-d'], action: 'half_down', says: 'half a page down', places: browsing },
  { keys: ['ctrl-u'], action: 'half_up', says: 'half a page up', places: browsing },
  { keys: ['pgdn', 'ctrl-f', 'space'], action: 'page_down', says: 'a page down', places: browsing },
  { keys: ['pgup', 'ctrl-b'], action: 'page_up', says: 'a page up', places: browsing },
  {
    keys: ['1', '2', '3', '4', '5'],
    action: 'screen',
    says: 'to a screen; behind a count, digits count',
    pageSays: 'to a screen',
    places: browsing,
  },
  { keys: ['tab'], action: 'next_screen', says: 'the next screen', places: browsing },
  { keys: ['shift-tab'], action: 'previous_screen', says: 'the screen before', places: browsing },
  {
    keys: [':'],
    action: 'command',
    says: 'any command of svc',
    places: [...browsing, 'welcome'],
    hint: 'command',
  },
  { keys: ['!'], action: 'warnings', says: 'all that the node warns of', places: browsing },
  { keys: ['R'], action: 'refresh', says: 'ask the node anew', places: browsing },
  { keys: ['ctrl-l'], action: 'redraw', says: 'draw the screen anew', places: browsing },
  {
    keys: ['M'],
    action: 'mouse',
    says: 'the mouse off, so that it selects text, and on; while it is on, shift selects text',
    places: browsing,
  },
  {
    keys: ['ctrl-z'],
    action: 'suspend',
    says: 'to the shell, fg comes back',
    places: [...browsing, 'compose', 'prompt', 'form', 'help', 'output', 'confirm', 'refused', 'welcome'],
  },
  { keys: ['?'], action: 'help', says: 'these keys', places: [...browsing, 'help'], hint: 'keys' },
  { keys: ['q'], action: 'back', says: 'back', places: ['thread'] },
  { keys: ['q'], action: 'quit', says: 'quit', places: lists },
  { keys: ['ctrl-c'], action: 'quit', says: 'quit', places: [...browsing, 'help', 'output'] },

  { keys: ['enter'], action: 'send', says: 'send', places: ['compose'], hint: 'send' },
  {
    keys: ['alt-enter', 'ctrl-j', 'shift-enter'],
    action: 'newline',
    says: 'a new line',
    places: ['compose'],
    hint: 'new line',
  },
  { keys: ['ctrl-t'], action: 'attach', says: 'attach a file', places: ['compose'], hint: 'attach' },
  { keys: ['ctrl-x'], action: 'detach', says: 'take the last file off', places: ['compose'] },
  {
    keys: ['esc', 'ctrl-c'],
    action: 'back',
    says: 'close; the draft is kept',
    places: ['compose'],
    hint: 'keep draft',
  },

  { keys: ['enter', 'ctrl-j'], action: 'open', says: 'take it', places: ['prompt'], hint: 'enter' },
  { keys: ['tab'], action: 'complete', says: 'complete', places: ['prompt'], hint: 'complete' },
  { keys: ['up'], action: 'previous', says: 'the command before', places: ['prompt'] },
  { keys: ['down'], action: 'next', says: 'the command after it', places: ['prompt'] },
  { keys: ['esc', 'ctrl-c'], action: 'back', says: 'close', places: ['prompt'], hint: 'close' },

  { keys: ['enter'], action: 'open', says: 'take it and go on', places: ['form'], hint: 'go on' },
  { keys: ['shift-tab'], action: 'previous_field', says: 'the field before', places: ['form'] },
  { keys: ['up'], action: 'previous', says: 'the choice above', places: ['form'] },
  { keys: ['down'], action: 'next', says: 'the choice below', places: ['form'] },
  { keys: ['tab'], action: 'complete', says: 'what is often meant', places: ['form'] },
  { keys: ['ctrl-t'], action: 'try', says: 'try it, and keep nothing', places: ['form'], hint: 'try it' },
  { keys: ['alt-enter', 'ctrl-j'], action: 'newline', says: 'a new line', places: ['form'] },
  { keys: ['ctrl-e'], action: 'editor', says: 'write a long text in $EDITOR', places: ['form'] },
  {
    keys: ['esc', 'ctrl-c'],
    action: 'back',
    says: 'close; nothing is changed',
    places: ['form'],
    hint: 'change nothing',
  },

  { keys: ['y'], action: 'yes', says: 'yes', places: ['confirm'], hint: 'yes' },
  { keys: ['r'], action: 'reason', says: 'write why, where that is told', places: ['confirm'] },
  { keys: ['j', 'down'], action: 'next', says: 'the rest of the question', places: ['confirm'] },
  { keys: ['k', 'up'], action: 'previous', says: 'up again', places: ['confirm'] },
  { keys: ['pgdn', 'space', 'ctrl-d'], action: 'page_down', says: 'a page down', places: ['confirm'] },
  { keys: ['pgup', 'ctrl-u'], action: 'page_up', says: 'a page up', places: ['confirm'] },
  { keys: ['n', 'esc', 'q', 'ctrl-c'], action: 'no', says: 'no', places: ['confirm'], hint: 'no' },

  { keys: ['enter', 'esc', 'ctrl-c'], action: 'back', says: 'go on', places: ['refused'], hint: 'go on' },

  {
    keys: ['s', 'U'],
    action: 'start_node',
    says: 'start your node',
    places: ['welcome'],
    hint: 'start your node',
  },
  { keys: ['j'], action: 'join', says: 'join a hub by its address', places: ['welcome'], hint: 'join a hub' },
  { keys: ['h'], action: 'host', says: 'host a hub on this machine', places: ['welcome'], hint: 'host one' },
  { keys: ['d'], action: 'demo', says: 'see a demo first', places: ['welcome'], hint: 'demo' },
  { keys: ['esc', 'q', 'ctrl-c'], action: 'back', says: 'not now', places: ['welcome'], hint: 'not now' },

  { keys: ['j', 'down'], action: 'next', says: 'down', places: ['help', 'output'] },
  { keys: ['k', 'up'], action: 'previous', says: 'up', places: ['help', 'output'] },
  { keys: ['pgdn', 'space', 'ctrl-d'], action: 'page_down', says: 'a page down', places: ['help', 'output'] },
  { keys: ['pgup', 'ctrl-u'], action: 'page_up', says: 'a page up', places: ['help', 'output'] },
  { keys: ['esc', 'q', 'enter'], action: 'back', says: 'close', places: ['help', 'output'], hint: 'close' },
]

/** What a key does in a place; undefined where it does nothing. */
export function actionOf(place: Focus, key: string): Action | undefined {
  return keyRows.find(row => row.places.includes(place) && row.keys.includes(key))?.action
}

export const keysOf = (place: Focus): readonly KeyRow[] => keyRows.filter(row => row.places.includes(place))

const SIGNS: Readonly<Record<string, string>> = {
  esc: 'esc',
  enter: '⏎',
  up: '↑',
  down: '↓',
  left: '←',
  right: '→',
  space: 'space',
}

/** A key as help and hints write it; in words where a terminal lacks the sign. */
export const keyText = (key: string, isAscii = false): string =>
  (isAscii ? undefined : SIGNS[key]) ?? key.replace(/^ctrl-/, '^').replace(/^alt-/, 'M-')
