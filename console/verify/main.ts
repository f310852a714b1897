/** The page that verifies: files are dropped, chosen or pasted; everything is drawn as text, and nothing leaves the page. */
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { type Item, itemsOfFile, itemsOfText } from './material.ts'
import { type Card, cardsOf, type Tone } from './verdicts.ts'

const FILE_BYTES_MAX = 256 * 1024 * 1024

const byId = <T extends HTMLElement>(id: string, kind: new () => T): T => {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`)
  return found
}
const drop = byId('drop', HTMLElement)
const chooser = byId('files', HTMLInputElement)
const paste = byId('paste', HTMLTextAreaElement)
const hubs = byId('hubs', HTMLTextAreaElement)
const status = byId('status', HTMLElement)
const results = byId('results', HTMLElement)

let items: Item[] = []
/** What is drawn last counts; a reading that takes time stops when there is more. */
let turn = 0

function element(name: string, text = '', className = ''): HTMLElement {
  const made = document.createElement(name)
  made.textContent = text
  if (className !== '') made.className = className
  return made
}

function draw(card: Card): HTMLElement {
  const made = element('article', '', `card ${card.tone}`)
  const heading = element('h2')
  heading.append(element('span', card.word, 'word'), ' ', shownLine(card.title))
  const facts = element('dl')
  for (const [name, value] of card.facts) {
    const row = element('div')
    row.append(element('dt', shownLine(name)), element('dd', shownLine(value)))
    facts.append(row)
  }
  made.append(heading, element('p', shownLine(card.says)), ...(card.facts.length > 0 ? [facts] : []))
  return made
}

class Overtaken extends Error {}

async function show(): Promise<void> {
  turn += 1
  const mine = turn
  status.textContent = items.length === 0 ? '' : 'Checking …'
  const progress = async (done: number, of: number) => {
    status.textContent = `Checking record ${done} of ${of} …`
    await new Promise(resolve => setTimeout(resolve))
    if (turn !== mine) throw new Overtaken()
  }
  try {
    const cards = await cardsOf(items, { hubs: named() }, progress)
    if (turn !== mine) return
    results.replaceChildren(...cards.map(draw))
    status.textContent = summary(cards)
  } catch (error) {
    if (!(error instanceof Overtaken)) throw error
  }
}

/** The hubs whose word counts, as the person wrote them. */
const named = (): Set<string> => new Set(hubs.value.split(/[\s,;]+/).filter(one => one !== ''))

function summary(cards: readonly Card[]): string {
  if (cards.length === 0) return ''
  const toned = (...tones: Tone[]) => cards.filter(card => tones.includes(card.tone))
  const checked = toned('good', 'bad').filter(card => card.unchecked !== true)
  const bad = checked.filter(({ tone }) => tone === 'bad').length
  const left = toned('good', 'bad', 'open').length - checked.length
  const parts = [
    checked.length > 0 && (checked.length === 1 ? 'One thing checked' : `${checked.length} things checked`),
    bad > 0 && (bad === 1 ? 'one does not hold' : `${bad} do not hold`),
    left > 0 && (left === 1 ? 'one was not checked' : `${left} were not checked`),
  ].filter(part => part !== false)
  return parts.length === 0
    ? 'Read; nothing here is to check yet.'
    : `${parts.join(', ').replace(/^o/, 'O')}.`
}

const pause = () => new Promise<void>(resolve => setTimeout(resolve))

async function take(files: Iterable<File>): Promise<void> {
  for (const file of files) {
    status.textContent = `Reading ${shownLine(file.name)} …`
    if (file.size > FILE_BYTES_MAX)
      items.push({ kind: 'refused', name: file.name, why: 'it is over 256 MiB' })
    else items.push(...(await itemsOfFile(file.name, new Uint8Array(await file.arrayBuffer()), pause)))
  }
  await show()
}

const run = (work: Promise<void>): void => {
  work.catch((error: unknown) => {
    status.textContent = `The page could not go on: ${error instanceof Error ? error.message : String(error)}`
  })
}

document.addEventListener('dragover', event => {
  event.preventDefault()
  drop.classList.add('over')
})
document.addEventListener('dragleave', () => drop.classList.remove('over'))
document.addEventListener('drop', event => {
  event.preventDefault()
  drop.classList.remove('over')
  run(take([...(event.dataTransfer?.files ?? [])]))
})
chooser.addEventListener('change', () => {
  run(take([...(chooser.files ?? [])]))
  chooser.value = ''
})
byId('check', HTMLButtonElement).addEventListener('click', () => {
  const text = paste.value.trim()
  if (text === '') return
  paste.value = ''
  run(
    itemsOfText('pasted text', text, pause).then(found => {
      items.push(...found)
      return show()
    }),
  )
})
hubs.addEventListener('change', () => run(show()))
byId('clear', HTMLButtonElement).addEventListener('click', () => {
  items = []
  paste.value = ''
  run(show())
})
