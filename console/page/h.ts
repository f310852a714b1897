/**
 * What the page draws with: `h` describes an element, `patch` makes the document so, changing only what differs. Keyed
 * children keep their elements, and so their focus, selection and scroll. Text becomes text nodes and nothing else.
 */

type Listener = (event: Event) => void
export type Props = Readonly<Record<string, string | number | boolean | undefined | Listener>>
export type Kid = Drawn | string | number | undefined | false | readonly Kid[]
export type Drawn = {
  readonly tag: string
  readonly key: string | undefined
  readonly props: Props
  readonly kids: readonly (Drawn | string)[]
}

const SVG = 'http://www.w3.org/2000/svg'
/** Set as properties: their attributes say only how an element starts. */
const PROPERTIES = new Set(['value', 'checked', 'disabled', 'open', 'indeterminate'])

/** What an element was last made of. */
const made = new WeakMap<Node, Drawn>()

export function h(tag: string, props: Props = {}, ...kids: Kid[]): Drawn {
  const { key, ...rest } = props
  return { tag, key: key === undefined ? undefined : String(key), props: rest, kids: flat(kids) }
}

function flat(kids: readonly Kid[]): (Drawn | string)[] {
  const out: (Drawn | string)[] = []
  for (const kid of kids) {
    if (kid === undefined || kid === false || kid === '') continue
    if (Array.isArray(kid)) out.push(...flat(kid))
    else out.push(typeof kid === 'number' ? String(kid) : (kid as Drawn | string))
  }
  return out
}

/** Makes the children of an element what is described; what had the focus keeps it where it still stands. */
export function patch(parent: Element, ...kids: Kid[]): void {
  const focused = document.activeElement
  patchKids(parent, flat(kids))
  if (focused instanceof HTMLElement && focused !== document.activeElement && focused.isConnected)
    focused.focus({ preventScroll: true })
}

function patchKids(parent: Element, kids: readonly (Drawn | string)[]): void {
  const keyed = new Map<string, Element>()
  for (const child of parent.children) {
    const key = made.get(child)?.key
    if (key !== undefined) keyed.set(key, child)
  }
  let cursor: ChildNode | null = parent.firstChild
  for (const kid of kids) {
    const node = typeof kid === 'string' ? textFor(kid, cursor) : elementFor(kid, parent, cursor, keyed)
    if (node === cursor) cursor = cursor.nextSibling
    else parent.insertBefore(node, cursor)
    if (typeof kid !== 'string') update(node as Element, kid)
  }
  while (cursor !== null) {
    const next: ChildNode | null = cursor.nextSibling
    cursor.remove()
    cursor = next
  }
}

function textFor(text: string, cursor: ChildNode | null): ChildNode {
  if (!(cursor instanceof Text)) return document.createTextNode(text)
  if (cursor.data !== text) cursor.data = text
  return cursor
}

function elementFor(
  { tag, key }: Drawn,
  parent: Element,
  cursor: ChildNode | null,
  keyed: ReadonlyMap<string, Element>,
): ChildNode {
  const before = key === undefined ? cursor : (keyed.get(key) ?? null)
  const last = before === null ? undefined : made.get(before)
  if (before !== null && last?.tag === tag && last.key === key) return before
  const isSvg = tag === 'svg' || (parent.namespaceURI === SVG && parent.tagName !== 'foreignObject')
  return isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag)
}

function update(element: Element, next: Drawn): void {
  const last = made.get(element)
  if (last === next) return
  made.set(element, next)
  for (const name of Object.keys(last?.props ?? {}))
    if (!(name in next.props)) setProp(element, name, undefined, last?.props[name])
  for (const [name, value] of Object.entries(next.props)) setProp(element, name, value, last?.props[name])
  patchKids(element, next.kids)
}

type Prop = Props[string]

function setProp(element: Element, name: string, value: Prop, before: Prop): void {
  if (name.startsWith('on')) listen(element, name.slice(2), value, before)
  else if (PROPERTIES.has(name)) setProperty(element, name, value, before)
  else if (value === before) return
  else if (value === undefined || value === false) element.removeAttribute(name)
  else element.setAttribute(name, value === true ? '' : String(value))
}

function listen(element: Element, type: string, value: Prop, before: Prop): void {
  if (before === undefined) element.addEventListener(type, heard)
  else if (value === undefined) element.removeEventListener(type, heard)
}

/** What a person types is not written over by what they typed before. */
function setProperty(element: Element, name: string, value: Prop, before: Prop): void {
  const held = element as unknown as Record<string, unknown>
  const wanted = value ?? (name === 'value' ? '' : false)
  if (value !== before && held[name] !== wanted) held[name] = wanted
}

/** One listener for all: it finds the function that the element was last described with. */
function heard(this: unknown, event: Event): void {
  const listener = made.get(event.currentTarget as Node)?.props[`on${event.type}`]
  if (typeof listener === 'function') listener(event)
}
