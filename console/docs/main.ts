/** What a page of the documents does in a browser: it searches, and it copies commands. Without it every page reads. */
import { openSearch } from './search.ts'

const COPIED_MS = 1500

openSearch()
showCurrent()
// A page that is opened over plain HTTP from another machine has no clipboard.
if (isSecureContext)
  for (const block of document.querySelectorAll('.code[data-language="sh"]')) addCopy(block)

/** A long navigation begins at the page that is shown. */
function showCurrent(): void {
  const navigation = document.querySelector('#site-navigation')
  const current = navigation?.querySelector<HTMLElement>('[aria-current]')
  if (navigation && current) navigation.scrollTop = current.offsetTop - navigation.clientHeight / 2
}

function addCopy(block: Element): void {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(block.querySelector('code')?.textContent ?? '').then(
      () => {
        button.textContent = 'Copied'
        setTimeout(() => {
          button.textContent = 'Copy'
        }, COPIED_MS)
      },
      () => {
        button.textContent = 'Refused'
      },
    )
  })
  block.append(button)
}
