"""Who is told of conversions: one observer per thread or asyncio task."""

from __future__ import annotations

from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar

from arraybridge import _arraybridge
from arraybridge.records import ConversionRecord

__all__ = ["ConversionObserver", "IgnoreConversions", "ObserverOfThisContext"]


class ObserverOfThisContext(ABCMeta):
    """Gives `ConversionObserver.current`."""

    @property
    def current(cls) -> ConversionObserver:
        """The observer of this thread or asyncio task; assigning installs another one."""
        return _current.get()

    @current.setter
    def current(cls, observer: ConversionObserver) -> None:
        observer.install()


class ConversionObserver(ABC, metaclass=ObserverOfThisContext):
    """Is told of each conversion while it is installed.

    An observer belongs to the context (`contextvars`) that installed it. A thread starts with none; a task starts with
    that of the code that made it. To observe a thread, run it in a copy of your context:
    `Thread(target=contextvars.copy_context().run, args=(work,))`. Where none is installed nothing is timed.
    """

    wants_records: ClassVar[bool] = True
    """Whether records are made for it at all."""

    @abstractmethod
    def record(self, record: ConversionRecord) -> None:
        """Takes one conversion, after it is done and in the thread that did it."""

    def install(self) -> ConversionObserver:
        """Makes this the observer of this context. Returns the one it takes the place of."""
        previous = _current.get()
        if self.wants_records:
            _start_observing()
        _current.set(self)
        return previous

    @contextmanager
    def installed(self) -> Iterator[ConversionObserver]:
        """This is the observer of this context inside the block, and the previous one is again after it."""
        previous = self.install()
        try:
            yield self
        finally:
            previous.install()


class IgnoreConversions(ConversionObserver):
    """The observer where none is installed."""

    wants_records = False

    def record(self, record: ConversionRecord) -> None:
        """Drops it."""


_IGNORE: ConversionObserver = IgnoreConversions()
_current: ContextVar[ConversionObserver] = ContextVar("arraybridge_observer", default=_IGNORE)
_observing = False


def _start_observing() -> None:
    """Until this was called conversions do not even look for an observer."""
    global _observing
    if not _observing:
        _arraybridge.observe(_current, ConversionRecord)
        _observing = True
