/**
 * Shows the text of `data-tip` next to an element that the pointer or the focus is on. The focus on a link in a row of a table shows
 * the times of the whole row. So no time there is a stop of the Tab key. Escape hides it (WCAG 1.4.13).
 */
export function showTips(): void {
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.setAttribute('role', 'tooltip');
  tip.id = 'tip';
  tip.hidden = true;
  document.body.append(tip);
  const hide = (): void => {
    tip.hidden = true;
  };
  const show = (target: EventTarget | null, find: (from: Element) => readonly Element[]): void => {
    if (!(target instanceof Element) || tip.contains(target)) return;
    const found = find(target);
    const [first] = found;
    if (first === undefined) return hide();
    tip.textContent = [...new Set(found.map((element) => element.getAttribute('data-tip')))].join('\n');
    // An open dialog is above all that is not inside it, and each text belongs to a landmark.
    (first.closest('dialog, header, main') ?? document.body).append(tip);
    tip.hidden = false;
    setPlace(tip, first.getBoundingClientRect());
  };
  document.addEventListener('mouseover', ({ target }) => show(target, pointed));
  document.addEventListener('focusin', ({ target }) => show(target, focused));
  document.addEventListener('focusout', hide);
  document.addEventListener('scroll', hide, { capture: true, passive: true });
  document.addEventListener('click', hide);
  document.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') hide();
  });
}

function pointed(from: Element): readonly Element[] {
  const found = from.closest('[data-tip]');
  return found === null ? [] : [found];
}

function focused(from: Element): readonly Element[] {
  if (!from.matches(':focus-visible')) return [];
  const own = pointed(from);
  return own.length > 0 ? own : [...(from.closest('tr')?.querySelectorAll('time[data-tip]') ?? [])];
}

function setPlace(tip: HTMLElement, { left, top, bottom }: DOMRect): void {
  const { width, height } = tip.getBoundingClientRect();
  const isBelow = top < height + 8;
  tip.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - width - 4))}px`;
  tip.style.top = `${isBelow ? bottom + 4 : top - height - 4}px`;
}
