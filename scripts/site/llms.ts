/** `llms.txt` of the site: what svc is, and each page with one line, for programs that read (llmstxt.org). */
import type { Documents } from './documents.ts'
import { wordsOf } from './documents.ts'
import type { Section } from './navigation.ts'

export function llmsText({ all }: Documents, sections: readonly Section[]): string {
  const paragraphs = (all.get('README.md')?.tokens ?? []).filter(token => token.type === 'paragraph')
  const summary = wordsOf(paragraphs.slice(0, 1))
  const listed = sections.map(({ title, entries }) => {
    const lines = entries.map(
      ({ document, about }) =>
        `- [${document.title}](${document.page}.md)${about === '' ? '' : `: ${about}`}`,
    )
    return `## ${title}\n\n${lines.join('\n')}\n`
  })
  return `# svc\n\n> ${summary}\n\nBegin with [the front page](index.md). Every page is here as Markdown.\n\n${listed.join('\n')}`
}
